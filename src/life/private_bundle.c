#define _GNU_SOURCE
#include "life/private_bundle.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "apply/tree_remove.h"
#include "base/fd.h"
#include "base/file.h"
#include "life/state.h"

#define PREFIX ".sandbox-"
#define CLAIM "workspace"
/* hier(7): for temporary files that are kept on a disk. Everybody may go there, and with the sticky bit nobody moves another's directory. */
#define WORKSPACES "/var/tmp"
#define WORKSPACE_PREFIX "sage-sandbox-"

static const char *const files[] = { "config.json", ".config.json.new", CLAIM };

static int fail_at(const struct private_bundle *bundle, int r, const char *what, struct error *err) {
        return fail_errno(err, CODE_LAUNCH_FAILED, -r, bundle->path, "cannot %s the sandbox's bundle", what);
}

const char *private_bundle_id(const char *entry) {
        const char *id = str_after(entry, PREFIX);

        return id && state_id_valid(id) ? id : NULL;
}

void private_bundle_close(struct private_bundle *bundle) {
        close_fd(&bundle->dir);
        close_fd(&bundle->root);
}

/* ---- making ------------------------------------------------------------------------------------------------------------- */

int private_bundle_place(struct arena *arena, const char **ret, struct error *err) {
        uint64_t random[2];

        if (getrandom(random, sizeof random, 0) != sizeof random)
                return fail_errno(err, CODE_INTERNAL, errno, "", "cannot get random numbers");
        *ret = arena_printf(arena, WORKSPACES "/" WORKSPACE_PREFIX "%016jx%016jx", (uintmax_t)random[0], (uintmax_t)random[1]);
        return 0;
}

static bool is_removed(int fd) {
        struct stat st;

        return fstat(fd, &st) == 0 && st.st_nlink == 0;
}

/* 1: made and locked; 0: `gc` took it before it was locked; a negative errno. */
static int make_dir(struct private_bundle *bundle) {
        int r;

        if (mkdirat(bundle->root, bundle->name, 0700) < 0)
                return -errno;
        bundle->dir = openat(bundle->root, bundle->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (bundle->dir < 0 && (r = -errno) != -ENOENT) {
                unlinkat(bundle->root, bundle->name, AT_REMOVEDIR);
                return r;
        }
        if (bundle->dir < 0)
                return 0;
        if (flock(bundle->dir, LOCK_EX | LOCK_NB) == 0 && !is_removed(bundle->dir))
                return 1;
        close_fd(&bundle->dir);
        return 0;
}

static int name_it(struct arena *arena, const char *root, const char *id, struct private_bundle *bundle, struct error *err) {
        char absolute[PATH_MAX];

        bundle->name = arena_printf(arena, PREFIX "%s", id);
        if (strlen(bundle->name) > NAME_MAX)
                return fail(
                        err, CODE_USAGE, ENAMETOOLONG, "id", "the id of a sandbox has at most %zu characters", NAME_MAX - strlen(PREFIX));
        if (!realpath(root, absolute))
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, root, "cannot find the state directory");
        bundle->path = arena_printf(arena, "%s/%s", absolute, bundle->name);
        return 0;
}

int private_bundle_make(struct arena *arena, const char *root, const char *id, struct private_bundle *ret, struct error *err) {
        _cleanup_private_bundle_ struct private_bundle bundle = PRIVATE_BUNDLE_NONE;
        int r;

        if ((r = state_check_id(id, err)) < 0 || (r = state_open_root(root, true, &bundle.root, err)) < 0 ||
                (r = name_it(arena, root, id, &bundle, err)) < 0)
                return r;
        for (int tries = 0; (r = make_dir(&bundle)) == 0 && tries < 100; tries++)
                ;
        if (r == -EEXIST)
                return fail(err, CODE_EXISTS, EEXIST, id,
                        "a sandbox of this id is there already, or was left by a runtime that was killed (`gc`)");
        if (r == 0)
                r = -EAGAIN;
        if (r > 0)
                r = mkdirat(bundle.dir, "rootfs", 0755) < 0 ? -errno : 0;
        if (r < 0) {
                r = fail_at(&bundle, r, "make", err);
                if (bundle.dir >= 0)
                        unlinkat(bundle.root, bundle.name, AT_REMOVEDIR);
                return r;
        }
        *ret = bundle;
        bundle.root = bundle.dir = -1;
        return 0;
}

/* The claim comes before what it claims. That there was something under this name, which is new, nobody can have arranged. */
int private_bundle_make_workspace(struct private_bundle *bundle, const char *place, uint32_t uid, uint32_t gid, uint64_t *ret_dev,
        uint64_t *ret_ino, struct error *err) {
        _cleanup_close_ int fd = -1;
        struct stat st;

        if (symlinkat(place, bundle->dir, CLAIM) < 0)
                return fail_at(bundle, -errno, "write to", err);
        bundle->workspace = place;
        if (mkdir(place, 0700) < 0)
                return fail_errno(err, CODE_WORKSPACE_INVALID, errno, place, "cannot make a fresh workspace");
        fd = open(place, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0 || (geteuid() == 0 && fchown(fd, uid, gid) < 0) || fstat(fd, &st) < 0)
                return fail_errno(err, CODE_WORKSPACE_INVALID, errno, place, "cannot give the fresh workspace to uid %u", uid);
        *ret_dev = st.st_dev;
        *ret_ino = st.st_ino;
        return 0;
}

int private_bundle_keep_workspace(struct private_bundle *bundle, struct error *err) {
        if (bundle->workspace && unlinkat(bundle->dir, CLAIM, 0) < 0)
                return fail_at(bundle, -errno, "write to", err);
        bundle->workspace = NULL;
        return 0;
}

int private_bundle_write_config(struct private_bundle *bundle, const char *text, size_t size, struct error *err) {
        int r = file_replace(bundle->dir, "config.json", 0600, text, size);

        return r < 0 ? fail_at(bundle, r, "write", err) : 0;
}

/* ---- removing ----------------------------------------------------------------------------------------------------------- */

/* Only what private_bundle_place() names: whatever else a claim may say, its text was not written by us. */
static int remove_workspace(const char *path, struct error *err) {
        const char *name = str_after(path, WORKSPACES "/");
        _cleanup_close_ int parent = -1;

        if (!name || !str_after(name, WORKSPACE_PREFIX) || strchr(name, '/'))
                return fail(err, CODE_STATE_CORRUPT, EINVAL, path, "this is no workspace that a sandbox would have made");
        parent = open(WORKSPACES, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (parent < 0)
                return fail_errno(err, CODE_RELEASE_FAILED, errno, WORKSPACES, "cannot open this");
        return tree_remove(parent, name, err);
}

int private_bundle_remove(struct private_bundle *bundle, struct error *err) {
        int r;

        if (bundle->dir < 0)
                return 0;
        if (bundle->workspace && (r = remove_workspace(bundle->workspace, err)) < 0)
                return r;
        if (unlinkat(bundle->dir, "rootfs", AT_REMOVEDIR) < 0 && errno != ENOENT)
                return fail_errno(err, CODE_RELEASE_FAILED, errno, bundle->path, "cannot remove the sandbox's bundle");
        for (size_t i = 0; i < sizeof files / sizeof *files; i++)
                if (unlinkat(bundle->dir, files[i], 0) < 0 && errno != ENOENT)
                        return fail_errno(
                                err, CODE_RELEASE_FAILED, errno, bundle->path, "cannot remove %s of the sandbox's bundle", files[i]);
        if (unlinkat(bundle->root, bundle->name, AT_REMOVEDIR) < 0 && errno != ENOENT)
                return fail_errno(err, CODE_RELEASE_FAILED, errno, bundle->path, "cannot remove the sandbox's bundle");
        close_fd(&bundle->dir);
        return 0;
}

/* ---- what was left ------------------------------------------------------------------------------------------------------ */

int private_bundle_open_left(struct arena *arena, const char *root, const char *id, struct private_bundle *ret, struct error *err) {
        _cleanup_private_bundle_ struct private_bundle bundle = PRIVATE_BUNDLE_NONE;
        char claim[PATH_MAX];
        ssize_t n;
        int r;

        if ((r = state_open_root(root, false, &bundle.root, err)) < 0 || (r = name_it(arena, root, id, &bundle, err)) < 0)
                return r;
        bundle.dir = openat(bundle.root, bundle.name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (bundle.dir < 0)
                return fail_errno(err, errno == ENOENT ? CODE_NOT_FOUND : CODE_STATE_CORRUPT, errno, bundle.path, "cannot open this");
        if (flock(bundle.dir, LOCK_EX | LOCK_NB) < 0)
                return fail_errno(err, errno == EWOULDBLOCK ? CODE_BUSY : CODE_INTERNAL, errno, bundle.path, "cannot lock this");
        if (is_removed(bundle.dir))
                return fail(err, CODE_NOT_FOUND, ENOENT, bundle.path, "this is gone");
        n = readlinkat(bundle.dir, CLAIM, claim, sizeof claim - 1);
        if (n < 0 && errno != ENOENT)
                return fail_errno(err, CODE_STATE_CORRUPT, errno, bundle.path, "cannot read the claim on the workspace");
        if (n >= 0)
                bundle.workspace = arena_strndup(arena, claim, (size_t)n);
        *ret = bundle;
        bundle.root = bundle.dir = -1;
        return 0;
}
