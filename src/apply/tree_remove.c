#define _GNU_SOURCE
#include "apply/tree_remove.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "apply/tree.h"
#include "base/fd.h"
#include "base/str.h"

/* 1: NAME is a directory that is not empty. */
static int remove_entry(int dir, const struct dirent64 *entry) {
        bool directory = entry->d_type == DT_DIR;

        if (unlinkat(dir, entry->d_name, directory ? AT_REMOVEDIR : 0) == 0 || errno == ENOENT)
                return 0;
        if (!directory && errno == EISDIR)
                return unlinkat(dir, entry->d_name, AT_REMOVEDIR) == 0 || errno == ENOENT ? 0 : 1;
        return directory && (errno == ENOTEMPTY || errno == EEXIST) ? 1 : -errno;
}

/* Removes what is in directory DIR, up to the first directory that is not empty: its name, and 1. 0: nothing is left. */
static int remove_entries(int dir, char name[NAME_MAX + 1]) {
        char buffer[8192] __attribute__((aligned(__alignof__(struct dirent64))));
        ssize_t n;

        if (lseek(dir, 0, SEEK_SET) < 0)
                return -errno;
        while ((n = syscall(SYS_getdents64, dir, buffer, sizeof buffer)) > 0)
                for (ssize_t at = 0; at < n;) {
                        const struct dirent64 *entry = (const struct dirent64 *)(buffer + at);
                        int r;

                        at += entry->d_reclen;
                        if (streq(entry->d_name, ".") || streq(entry->d_name, ".."))
                                continue;
                        r = remove_entry(dir, entry);
                        if (r > 0)
                                strcpy(name, entry->d_name);
                        if (r != 0)
                                return r;
                }
        return n < 0 && errno != ENOENT ? -errno : 0;
}

/* Into NAME. Who is not root has to give himself the rights that his payload took away. */
static int enter(struct tree *tree, const char *name) {
        int r = tree_enter(tree, name);

        if (r == -EACCES) {
                _cleanup_close_ int fd = openat(tree->fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

                if (fd < 0 || chmod(fd_path(fd).path, 0700) < 0)
                        return -errno;
                r = tree_enter(tree, name);
        }
        return r == 0 && geteuid() != 0 && fchmod(tree->fd, 0700) < 0 ? -errno : r;
}

/* Nothing is moved: in a project that is full, no directory has room for another name. */
static int remove_all(struct tree *tree, int dir, const char *name) {
        char next[NAME_MAX + 1];
        int r = tree_begin(tree, dir);

        if (r < 0 || (r = enter(tree, name)) < 0)
                return r;
        while (tree->depth > 0) {
                r = remove_entries(tree->fd, next);
                if (r == 0)
                        r = tree_leave(tree);
                else if (r > 0 && (r = enter(tree, next)) == -ENOENT)
                        r = 0;
                if (r < 0)
                        return r;
        }
        return unlinkat(dir, name, AT_REMOVEDIR) < 0 ? -errno : 0;
}

int tree_remove(int dir, const char *name, struct error *err) {
        _cleanup_tree_ struct tree tree = TREE_NOTHING;
        int r = remove_all(&tree, dir, name);

        if (r < 0 && r != -ENOENT)
                return fail_errno(err, CODE_RELEASE_FAILED, -r, name, "cannot remove this directory");
        return 0;
}
