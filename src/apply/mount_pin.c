#define _GNU_SOURCE
#include "apply/mount_pin.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "apply/container_path.h"
#include "apply/mount_source.h"
#include "base/fd.h"
#include "base/str.h"

int mount_file(const struct plan_mount *m, int root, struct fd_batch *done, struct error *err) {
        _cleanup_close_ int place = -1, fd = -1;
        const size_t n = strlen(m->data);
        int r;

        if ((r = container_path_make(root, m->destination, S_IFREG, &place, err)) < 0 ||
                (r = container_path_open(root, m->destination, O_WRONLY | O_TRUNC | O_NOFOLLOW, &fd, err)) < 0)
                return r;
        if (write(fd, m->data, n) != (ssize_t)n || fchmod(fd, 0444) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, m->field, "cannot write %s", m->destination);
        fd_batch_add(done, &place);
        return 0;
}

/* Does the first name of PATH that is missing end in ".lock"? Programs make such files beside what they change, and take their being there for
 * somebody else's (git): nobody puts a placeholder there. */
static bool is_lock(int root, const char *path) {
        for (size_t end = 0; path[end];) {
                char at[4096];
                _cleanup_close_ int fd = -1;

                end += strspn(path + end, "/");
                end += strcspn(path + end, "/");
                if (end >= sizeof at)
                        return false;
                memcpy(at, path, end);
                at[end] = '\0';
                fd = container_path_try(root, at, O_PATH | O_NOFOLLOW, RESOLVE_NO_SYMLINKS);
                if (fd == -ENOENT)
                        return end > 5 && memcmp(at + end - 5, ".lock", 5) == 0;
        }
        return false;
}

static int check_pinned(const struct plan_mount *m, const struct stat *st, struct error *err) {
        if (S_ISDIR(st->st_mode))
                return 0;
        if (!S_ISREG(st->st_mode))
                return fail(err, CODE_WORKSPACE_INVALID, EINVAL, m->field, "%s is %s, and neither a directory nor a file", m->destination,
                        S_ISLNK(st->st_mode) ? "a symlink" : "special");
        if (st->st_nlink != 1)
                return fail(err, CODE_WORKSPACE_INVALID, EMLINK, m->field, "%s has %lu names, and could be written by another",
                        m->destination, (unsigned long)st->st_nlink);
        return 0;
}

int mount_pin(const struct plan_mount *m, int root, struct fd_batch *done, struct error *err) {
        _cleanup_close_ int place = container_path_try(root, m->destination, O_PATH | O_NOFOLLOW, RESOLVE_NO_SYMLINKS), tree = -1;
        struct tree_change change = { .set = m->attributes_set, .recursive = true };
        struct stat st;
        int r;

        if (place == -ENOTDIR || (place == -ENOENT && is_lock(root, m->destination)))
                return 0;
        if (place == -ELOOP)
                return fail(err, CODE_WORKSPACE_INVALID, ELOOP, m->field, "%s lies behind a symlink", m->destination);
        if (place < 0 || fstat(place, &st) < 0)
                return fail_errno(err, CODE_WORKSPACE_INVALID, place < 0 ? -place : errno, m->field, "cannot protect %s", m->destination);
        if ((r = check_pinned(m, &st, err)) < 0)
                return r;
        if (!S_ISDIR(st.st_mode))
                change.set |= MOUNT_ATTR_RDONLY;
        tree = open_tree(place, "", AT_EMPTY_PATH | AT_RECURSIVE | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
        if (tree < 0 || tree_change(tree, &change) < 0 ||
                move_mount(tree, "", place, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, m->field, "cannot protect %s", m->destination);
        fd_batch_add(done, &tree);
        fd_batch_add(done, &place);
        return 0;
}
