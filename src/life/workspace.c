#define _GNU_SOURCE
#include "life/workspace.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <sha2.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"
#include "life/placeholder.h"

#define TOP ".workspaces"

/* ROOT/.workspaces/DEVICE.INODE. */
static void name_of(const struct status_workspace_claim *claim, char *name, size_t size) {
        snprintf(name, size, TOP "/%" PRIu64 ".%" PRIu64, claim->dev, claim->ino);
}

static int make_users(int root, const char *name) {
        if (mkdirat(root, TOP, 0700) < 0 && errno != EEXIST)
                return -errno;
        return mkdirat(root, name, 0700) < 0 && errno != EEXIST && errno != ENOENT ? -errno : 0;
}

/* Locked, and still there: the last user takes it away. MAKE: as well as what leads to it; else -ENOENT where there is none. */
static int open_users(int root, const struct status_workspace_claim *claim, bool make, int *ret) {
        char name[64];
        int r;

        name_of(claim, name, sizeof name);
        for (;;) {
                _cleanup_close_ int fd = -1;
                struct stat st;

                if (make && (r = make_users(root, name)) < 0)
                        return r;
                fd = openat(root, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
                if (fd < 0 && (errno != ENOENT || !make))
                        return -errno;
                while (fd >= 0 && flock(fd, LOCK_EX) < 0)
                        if (errno != EINTR)
                                return -errno;
                if (fd >= 0 && fstat(fd, &st) == 0 && st.st_nlink > 0) {
                        *ret = take_fd(&fd);
                        return 0;
                }
        }
}

/* FIPS 180-4, of the paths with a NUL behind each: no two lists give the same text. */
static void digest_of(const struct sage_filesystem *f, char digest[SHA256_DIGEST_STRING_LENGTH]) {
        SHA2_CTX context;

        SHA256Init(&context);
        for (size_t i = 0; i < f->n_protected_paths; i++)
                SHA256Update(&context, (const uint8_t *)f->protected_paths[i], strlen(f->protected_paths[i]) + 1);
        SHA256End(&context, digest);
}

static bool lives(struct arena *arena, const char *root, const char *id) {
        _cleanup_container_ struct container other = CONTAINER_CLOSED;
        struct error ignored;
        enum oci_status status;

        return container_open(arena, root, id, CONTAINER_UNLOCKED, &other, &ignored) == 0 &&
                container_state(&other, &status, NULL, &ignored) == 0 && status != OCI_STATUS_STOPPED;
}

static int check_one(
        struct arena *arena, int users, const struct container *container, const char *id, const char *digest, struct error *err) {
        char theirs[SHA256_DIGEST_STRING_LENGTH] = "";

        if (id[0] == '.' || streq(id, container->id))
                return 0;
        if (readlinkat(users, id, theirs, sizeof theirs - 1) < 0 && errno != ENOENT)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, id, "cannot read what this sandbox protects");
        if (streq(theirs, digest) || !lives(arena, fd_path(container->root).path, id))
                return 0;
        return fail(err, CODE_WORKSPACE_INVALID, EBUSY, "sage.sandbox.filesystem.protected_paths",
                "sandbox `%s` has this workspace and protects other paths there: all that share one must protect the same", id);
}

/* readdir(3) tells its end and an error alike, but for errno. */
static int check_others(struct arena *arena, int users, const struct container *container, const char *digest, struct error *err) {
        _cleanup_dir_ DIR *dir = NULL;
        struct dirent *entry;
        int fd = openat(users, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r;

        dir = fd < 0 ? NULL : fdopendir(fd);
        if (!dir)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, TOP, "cannot look who uses the workspace");
        while ((errno = 0, entry = readdir(dir)))
                if ((r = check_one(arena, users, container, entry->d_name, digest, err)) < 0)
                        return r;
        return errno ? fail_errno(err, CODE_LAUNCH_FAILED, errno, TOP, "cannot look who uses the workspace") : 0;
}

static int add_user(int users, const struct container *container, const char *digest, struct error *err) {
        (void)unlinkat(users, container->id, 0); /* of one that was removed by hand */
        return symlinkat(digest, users, container->id) < 0
                ? fail_errno(err, CODE_LAUNCH_FAILED, errno, TOP, "cannot write down that the workspace is used")
                : 0;
}

int workspace_claim(struct arena *arena, struct container *container, const struct plan_plan *plan, struct error *err) {
        const struct plan_workspace *workspace = plan->sandbox->workspace;
        struct status_workspace_claim *claim;
        char digest[SHA256_DIGEST_STRING_LENGTH];
        _cleanup_close_ int users = -1;
        int r;

        if (workspace->read_only) /* nobody changes anything by way of this one */
                return 0;
        claim = arena_new(arena, struct status_workspace_claim);
        *claim = (struct status_workspace_claim){ .path = workspace->path, .dev = workspace->dev, .ino = workspace->ino };
        container->status.workspace = claim;
        digest_of(plan->sage->filesystem, digest);
        if ((r = container_save(container, err)) < 0)
                return r;
        if ((r = open_users(container->root, claim, true, &users)) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, -r, TOP, "cannot write down who uses the workspace");
        if ((r = check_others(arena, users, container, digest, err)) < 0 || (r = add_user(users, container, digest, err)) < 0)
                return r;
        return placeholders_make(users, plan, err);
}

/* Also where that cannot be told: the next one takes the rest along. */
static bool is_used(int users) {
        _cleanup_dir_ DIR *dir = NULL;
        struct dirent *entry;
        int fd = openat(users, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        dir = fd < 0 ? NULL : fdopendir(fd);
        if (!dir)
                return true;
        while ((errno = 0, entry = readdir(dir)))
                if (entry->d_name[0] != '.')
                        return true;
        return errno;
}

int workspace_release(const struct container *container, struct error *err) {
        const struct status_workspace_claim *claim = container->status.workspace;
        _cleanup_close_ int users = -1;
        char name[64];
        int r;

        if (!claim)
                return 0;
        r = open_users(container->root, claim, false, &users);
        if (r == -ENOENT) { /* a runtime was killed before it made this, or behind removing it; others may use the rest */
                (void)unlinkat(container->root, TOP, AT_REMOVEDIR);
                return 0;
        }
        if (r < 0)
                return fail_errno(err, CODE_RELEASE_FAILED, -r, TOP, "cannot look who uses the workspace");
        if (unlinkat(users, container->id, 0) < 0 && errno != ENOENT)
                return fail_errno(err, CODE_RELEASE_FAILED, errno, TOP, "cannot give the workspace back");
        if (is_used(users))
                return 0;
        if ((r = placeholders_remove(users, claim, err)) < 0)
                return r;
        name_of(claim, name, sizeof name);
        (void)unlinkat(container->root, name, AT_REMOVEDIR);
        (void)unlinkat(container->root, TOP, AT_REMOVEDIR);
        return 0;
}
