#define _GNU_SOURCE
#include "life/placeholder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "apply/container_path.h"
#include "apply/mount_source.h"
#include "base/fd.h"
#include "base/str.h"

#define MODE 0444

/* Opens the directory that holds the last name of PATH, which lies below WORKSPACE, behind no symlink. */
static int open_parent(int workspace, const char *path, const char **ret_name) {
        const char *slash = strrchr(path, '/');
        char parent[PATH_MAX];

        *ret_name = slash ? slash + 1 : path;
        if (snprintf(parent, sizeof parent, "%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".") >= (int)sizeof parent)
                return -ENAMETOOLONG;
        return container_path_try(workspace, parent, O_PATH | O_DIRECTORY, RESOLVE_NO_SYMLINKS);
}

/* ---- making ---------------------------------------------------------------------------------------------------------------- */

/* A free name for what is to be written down: there are as many as placeholders. */
static int note(int users, const char *path) {
        char name[16];

        for (unsigned i = 0;; i++) {
                snprintf(name, sizeof name, ".%u", i);
                if (symlinkat(path, users, name) == 0)
                        return 0;
                if (errno != EEXIST)
                        return -errno;
        }
}

static int make_one(int users, int workspace, const char *path, const struct plan_sandbox *sandbox) {
        _cleanup_close_ int parent = -1, fd = -1;
        const char *name;
        int r = note(users, path);

        if (r < 0)
                return r;
        parent = open_parent(workspace, path, &name);
        if (parent < 0)
                return parent;
        fd = openat(parent, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, MODE);
        if (fd < 0) /* by now there is one: the child will see what it is */
                return errno == EEXIST ? 0 : -errno;
        if (fchmod(fd, MODE) < 0 || (geteuid() == 0 && fchown(fd, sandbox->uid, sandbox->gid) < 0))
                return -errno;
        return 0;
}

/* How much of PATH is there: *RET_END is where its first missing name ends. 1: one is missing, 0: none. */
static int find_missing(int workspace, const char *path, size_t *ret_end) {
        for (size_t end = strcspn(path, "/");; end += 1 + strcspn(path + end + 1, "/")) {
                _cleanup_close_ int fd = -1;
                char at[PATH_MAX];
                struct stat st;

                if (end >= sizeof at)
                        return -ENAMETOOLONG;
                memcpy(at, path, end);
                at[end] = '\0';
                fd = container_path_try(workspace, at, O_PATH | O_NOFOLLOW, RESOLVE_NO_SYMLINKS);
                if (fd == -ENOENT) {
                        *ret_end = end;
                        return 1;
                }
                if (fd == -ENOTDIR) /* a file, which is protected in its stead */
                        return 0;
                if (fd < 0 || fstat(fd, &st) < 0)
                        return fd < 0 ? fd : -errno;
                if (S_ISLNK(st.st_mode))
                        return -ELOOP;
                if (S_ISREG(st.st_mode) && st.st_nlink != 1)
                        return -EMLINK;
                if (!path[end])
                        return 0;
        }
}

static bool is_lock(const char *path, size_t end) {
        return end > 5 && memcmp(path + end - 5, ".lock", 5) == 0;
}

static int fail_path(struct error *err, int errnum, size_t i, const char *path) {
        char field[64];

        snprintf(field, sizeof field, "sage.sandbox.filesystem.protected_paths[%zu]", i);
        if (errnum == ELOOP)
                return fail(err, CODE_WORKSPACE_INVALID, ELOOP, field, "%s is a symlink in the workspace, or lies behind one", path);
        if (errnum == EMLINK)
                return fail(err, CODE_WORKSPACE_INVALID, EMLINK, field,
                        "%s, or a file on the way, has more than one name in the file system, and could be written by another", path);
        return fail_errno(err, CODE_WORKSPACE_INVALID, errnum, field, "cannot protect %s in the workspace", path);
}

int placeholders_make(int users, const struct plan_plan *plan, struct error *err) {
        const struct plan_workspace *workspace = plan->sandbox->workspace;
        const struct plan_only only = { .dev = workspace->dev, .ino = workspace->ino };
        const struct sage_filesystem *f = plan->sage->filesystem;
        _cleanup_close_ int fd = -1;
        int r;

        if (f->n_protected_paths == 0)
                return 0;
        r = mount_source_open_only(workspace->path, &only, "sage.sandbox.filesystem.workspace", &fd, err);
        if (r < 0)
                return r;
        for (size_t i = 0; i < f->n_protected_paths; i++) {
                const char *path = f->protected_paths[i];
                char missing[PATH_MAX];
                size_t end = 0;

                r = find_missing(fd, path, &end);
                if (r > 0 && !is_lock(path, end)) {
                        snprintf(missing, sizeof missing, "%.*s", (int)end, path);
                        r = make_one(users, fd, missing, plan->sandbox);
                }
                if (r < 0)
                        return fail_path(err, -r, i, path);
        }
        return 0;
}

/* ---- removing -------------------------------------------------------------------------------------------------------------- */

/* Only what is as it was made: empty, a file, not to be written. */
static void remove_one(int workspace, const char *path) {
        _cleanup_close_ int parent = -1;
        const char *name;
        struct stat st;

        parent = open_parent(workspace, path, &name);
        if (parent >= 0 && fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) && st.st_size == 0 &&
                (st.st_mode & 07777) == MODE)
                (void)unlinkat(parent, name, 0);
}

/* All that stand in USERS, whatever their numbers. */
int placeholders_remove(int users, const struct status_workspace_claim *claim, struct error *err) {
        const struct plan_only only = { .dev = claim->dev, .ino = claim->ino };
        _cleanup_close_ int workspace = -1;
        _cleanup_dir_ DIR *dir = NULL;
        struct dirent *entry;
        struct error gone;
        int fd = openat(users, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        dir = fd < 0 ? NULL : fdopendir(fd);
        if (!dir)
                return fail_errno(err, CODE_RELEASE_FAILED, errno, ".workspaces", "cannot read which placeholders there are");
        while ((errno = 0, entry = readdir(dir))) {
                char path[PATH_MAX];
                ssize_t n = readlinkat(users, entry->d_name, path, sizeof path - 1);

                if (entry->d_name[0] != '.' || n <= 0)
                        continue;
                path[n] = '\0';
                /* A workspace that is elsewhere by now keeps what is in it. */
                if (workspace < 0)
                        (void)mount_source_open_only(claim->path, &only, "", &workspace, &gone);
                if (workspace >= 0)
                        remove_one(workspace, path);
                if (unlinkat(users, entry->d_name, 0) < 0)
                        return fail_errno(err, CODE_RELEASE_FAILED, errno, entry->d_name, "cannot forget a placeholder");
        }
        return errno ? fail_errno(err, CODE_RELEASE_FAILED, errno, ".workspaces", "cannot read which placeholders there are") : 0;
}
