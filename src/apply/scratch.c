#define _GNU_SOURCE
#include "apply/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "apply/tree_remove.h"
#include "base/fd.h"
#include "base/str.h"
#include "facts/quota.h"

#define ON_MOUNT ".sage"
#define ID_MAX 200 /* of NAME_MAX, with "." and the token behind it */
#define TRIES 8

static int fail_scratch(struct error *err, int errnum, const char *where, const char *what) {
        return fail_errno(err, errnum == ENOSPC || errnum == EDQUOT ? CODE_RESOURCE_EXHAUSTED : CODE_LAUNCH_FAILED, errnum, where,
                "cannot %s for the sandbox's /tmp and /dev/shm", what);
}

static int open_directory(int dir, const char *name) {
        int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

        return fd < 0 ? -errno : fd;
}

/* Ours, and nobody else may write in it. */
static bool is_ours(const struct stat *st) {
        return S_ISDIR(st->st_mode) && st->st_uid == geteuid() && !(st->st_mode & 022);
}

/* The administrator's directory on the mount, or a negative errno. One that gives a project to what comes into it takes nothing of another
 * project (xfs_rename: EXDEV). */
static int open_on_mount(int mount) {
        _cleanup_close_ int fd = open_directory(mount, ON_MOUNT);
        struct quota_attributes attributes;
        struct stat st;
        int r;

        if (fd < 0)
                return fd;
        if (fstat(fd, &st) < 0)
                return -errno;
        if (!is_ours(&st))
                return -EPERM;
        r = quota_attributes(fd, &attributes);
        return r < 0 ? r : attributes.inherits ? -EXDEV : take_fd(&fd);
}

/* ---- claim --------------------------------------------------------------------------------------------------------------- */

int scratch_claim(struct arena *arena, const struct scratch_request *request, struct status_scratch_claim **ret, struct error *err) {
        struct status_scratch_claim *claim = arena_new(arena, struct status_scratch_claim);
        _cleanup_close_ int sage = open_on_mount(request->mount);
        struct stat st;
        uint64_t token;

        if (getrandom(&token, sizeof token, 0) != sizeof token)
                return fail_scratch(err, errno, request->workspace_path, "choose a name");
        if (fstat(request->workspace, &st) < 0)
                return fail_scratch(err, errno, request->workspace_path, "look at the workspace");
        *claim = (struct status_scratch_claim){
                .workspace = request->workspace_path,
                .device = st.st_dev,
                .inode = st.st_ino,
                .mount = sage >= 0 ? request->mount_path : NULL,
                .name = arena_printf(arena, "%.*s.%016llx", ID_MAX, request->id, (unsigned long long)token),
                .moving = arena_printf(arena, ".sage-%016llx", (unsigned long long)token),
        };
        *ret = claim;
        return 0;
}

/* ---- make ---------------------------------------------------------------------------------------------------------------- */

/* Directory NAME of DIR, just made, and of the workspace's project by inheritance. */
static int make_directory(int dir, const char *name, uint32_t project, int *ret) {
        _cleanup_close_ int fd = -1;
        struct quota_attributes attributes;
        struct stat st;
        int r;

        if (mkdirat(dir, name, 0700) < 0)
                return -errno;
        fd = open_directory(dir, name);
        if (fd < 0)
                return fd;
        /* Who lives in the workspace may have put another directory there by now; it cannot make one of ours. */
        if (fstat(fd, &st) < 0 || (r = quota_attributes(fd, &attributes)) < 0)
                return -errno;
        if (!is_ours(&st) || attributes.project != project || !attributes.inherits)
                return -EBUSY;
        *ret = take_fd(&fd);
        return 0;
}

/* rename(2) is for two directories of one mount, and the workspace may have been reached through another: its handle leads to the same
 * directory through this one (open_by_handle_at(2), CAP_DAC_READ_SEARCH). */
static int open_through(int mount, int directory) {
        struct {
                struct file_handle head;
                unsigned char bytes[MAX_HANDLE_SZ];
        } handle = { .head.handle_bytes = MAX_HANDLE_SZ };
        int id, fd;

        if (name_to_handle_at(directory, "", &handle.head, &id, AT_EMPTY_PATH) < 0)
                return -errno;
        fd = open_by_handle_at(mount, &handle.head, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        return fd < 0 ? -errno : fd;
}

/* Another directory may have been moved in its place; that one stays where nobody else gets at it, and is removed as ours. */
static int check_moved(int sage, const char *name, int fd) {
        struct stat made, moved;

        if (fstat(fd, &made) < 0 || fstatat(sage, name, &moved, AT_SYMLINK_NOFOLLOW) < 0)
                return -errno;
        return made.st_ino == moved.st_ino && made.st_dev == moved.st_dev ? 0 : -EBUSY;
}

static int make_on_mount(const struct scratch_request *request, const struct status_scratch_claim *claim, int *ret) {
        _cleanup_close_ int sage = open_on_mount(request->mount), workspace = open_through(request->mount, request->workspace), fd = -1;
        int r;

        if (sage < 0 || workspace < 0)
                return sage < 0 ? sage : workspace;
        if ((r = make_directory(workspace, claim->moving, request->project, &fd)) < 0)
                return r;
        if (renameat2(workspace, claim->moving, sage, claim->name, RENAME_NOREPLACE) < 0)
                return -errno;
        r = check_moved(sage, claim->name, fd);
        if (r == 0)
                *ret = take_fd(&fd);
        return r;
}

/* The directory that holds those of all sandboxes of a workspace. Each mounts something on it as a user that must get that far, and no
 * farther. The last sandbox that goes takes it along, so that it may vanish under us. */
static int make_in_workspace(const struct scratch_request *request, const struct status_scratch_claim *claim, int *ret) {
        _cleanup_close_ int workspace = open_through(request->mount, request->workspace);
        int r = workspace < 0 ? workspace : -ENOENT;

        for (int tries = 0; r == -ENOENT && tries < TRIES; tries++) {
                _cleanup_close_ int all = -1;
                struct stat st;

                if (mkdirat(workspace, SCRATCH_IN_WORKSPACE, 0711) < 0 && errno != EEXIST)
                        return -errno;
                all = open_directory(workspace, SCRATCH_IN_WORKSPACE);
                if (all < 0)
                        return all;
                if (fstat(all, &st) < 0)
                        return -errno;
                if (!is_ours(&st))
                        return -EPERM;
                if (fchmod(all, 0711) < 0)
                        return -errno;
                r = make_directory(all, claim->name, request->project, ret);
        }
        return r;
}

/* As /tmp is everywhere; the sticky bit because programs look for it. */
static int make_part(const struct scratch_request *request, int dir, const char *name, int *ret) {
        _cleanup_close_ int fd = -1;
        int r = make_directory(dir, name, request->project, &fd);

        if (r < 0)
                return r;
        if (fchown(fd, request->uid, request->gid) < 0 || fchmod(fd, 01777) < 0)
                return -errno;
        *ret = take_fd(&fd);
        return 0;
}

int scratch_make(const struct scratch_request *request, const struct status_scratch_claim *claim, struct scratch *ret, struct error *err) {
        _cleanup_scratch_ struct scratch made = SCRATCH_CLOSED;
        _cleanup_close_ int dir = -1;
        int r = claim->mount ? make_on_mount(request, claim, &dir) : make_in_workspace(request, claim, &dir);

        if (r == 0 && (r = make_part(request, dir, "tmp", &made.tmp)) == 0)
                r = make_part(request, dir, "shm", &made.shm);
        if (r == -EPERM || r == -ENOTDIR || r == -ELOOP)
                return fail(err, CODE_WORKSPACE_INVALID, -r, request->workspace_path,
                        "%s in it is not a directory of this runtime's (uid %u, and nobody else's to write): remove it",
                        SCRATCH_IN_WORKSPACE, geteuid());
        if (r < 0)
                return fail_scratch(err, -r, claim->mount ? claim->mount : claim->workspace, "make room");
        *ret = made;
        made = (struct scratch)SCRATCH_CLOSED;
        return 0;
}

void scratch_close(struct scratch *scratch) {
        close_fd(&scratch->tmp);
        close_fd(&scratch->shm);
}

/* ---- remove -------------------------------------------------------------------------------------------------------------- */

/* The workspace, if it is still there: -ENOENT. Whoever has put another directory in its place has taken along what is in it. */
static int open_workspace(const struct status_scratch_claim *claim) {
        _cleanup_close_ int fd = open(claim->workspace, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        struct stat st;

        if (fd < 0)
                return errno == ENOTDIR || errno == ELOOP ? -ENOENT : -errno;
        if (fstat(fd, &st) < 0)
                return -errno;
        return st.st_dev == claim->device && st.st_ino == claim->inode ? take_fd(&fd) : -ENOENT;
}

/* What was not moved yet is empty, and nothing else has this name. */
static int remove_moving(const struct status_scratch_claim *claim) {
        _cleanup_close_ int workspace = open_workspace(claim);

        if (workspace < 0)
                return workspace;
        return unlinkat(workspace, claim->moving, AT_REMOVEDIR) < 0 && errno != ENOTDIR && errno != ENOTEMPTY ? -errno : 0;
}

static int remove_on_mount(const struct status_scratch_claim *claim, struct error *err) {
        _cleanup_close_ int mount = open(claim->mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        _cleanup_close_ int sage = mount < 0 ? -errno : open_directory(mount, ON_MOUNT);
        int r = remove_moving(claim);

        if (r < 0 && r != -ENOENT)
                return r;
        return sage < 0 ? sage : tree_remove(sage, claim->name, err);
}

/* What holds the rooms is in the workspace: a sandbox of a directory above that one can rename it, and put anything in its place. */
static int open_all(int workspace) {
        int fd = open_directory(workspace, SCRATCH_IN_WORKSPACE);

        return fd == -ENOTDIR || fd == -ELOOP ? -ENOENT : fd;
}

static int remove_in_workspace(const struct status_scratch_claim *claim, struct error *err) {
        _cleanup_close_ int workspace = open_workspace(claim);
        _cleanup_close_ int all = workspace < 0 ? workspace : open_all(workspace);
        int r;

        if (all < 0)
                return all;
        if ((r = tree_remove(all, claim->name, err)) < 0)
                return r;
        /* Another sandbox's keeps it; and one that is being made makes it again. */
        if (unlinkat(workspace, SCRATCH_IN_WORKSPACE, AT_REMOVEDIR) < 0 && errno != ENOTEMPTY && errno != EEXIST && errno != ENOTDIR)
                return -errno;
        return 0;
}

int scratch_remove(const struct status_scratch_claim *claim, struct error *err) {
        int r;

        if (!claim)
                return 0;
        r = claim->mount ? remove_on_mount(claim, err) : remove_in_workspace(claim, err);
        if (r == 0 || r == -ENOENT)
                return 0;
        return fail_errno(err, CODE_RELEASE_FAILED, -r, claim->mount ? claim->mount : claim->workspace,
                "cannot remove %s, which held the sandbox's /tmp and /dev/shm", claim->name);
}
