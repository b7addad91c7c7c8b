#define _GNU_SOURCE
#include "apply/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"

#define FIRST_ROOM 64u

static int stand_in(struct tree *tree, int *fd) {
        struct stat st;

        if (fstat(*fd, &st) < 0)
                return -errno;
        close_fd(&tree->fd);
        tree->fd = take_fd(fd);
        tree->device = st.st_dev;
        tree->inode = st.st_ino;
        return 0;
}

int tree_begin(struct tree *tree, int top) {
        _cleanup_close_ int fd = openat(top, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        *tree = (struct tree)TREE_NOTHING;
        return fd < 0 ? -errno : stand_in(tree, &fd);
}

static int remember(struct tree *tree) {
        if (tree->depth == tree->room) {
                size_t room = tree->room ? 2 * tree->room : FIRST_ROOM;
                uint64_t *above = reallocarray(tree->above, room, sizeof *above);

                if (!above)
                        return -ENOMEM;
                tree->above = above;
                tree->room = room;
        }
        tree->above[tree->depth] = tree->inode;
        return 0;
}

int tree_enter(struct tree *tree, const char *name) {
        const struct open_how how = {
                .flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
                .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV,
        };
        _cleanup_close_ int fd = (int)syscall(SYS_openat2, tree->fd, name, &how, sizeof how);
        int r;

        if (fd < 0)
                return -errno;
        if ((r = remember(tree)) < 0 || (r = stand_in(tree, &fd)) < 0)
                return r;
        tree->depth++;
        return 0;
}

/* Whoever may write in this tree may rename a directory while we are in it, and ".." is then somewhere else. */
int tree_leave(struct tree *tree) {
        _cleanup_close_ int fd = openat(tree->fd, "..", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        struct stat st;

        if (fd < 0 || fstat(fd, &st) < 0)
                return -errno;
        if (st.st_dev != tree->device || st.st_ino != tree->above[tree->depth - 1])
                return -ESTALE;
        tree->depth--;
        return stand_in(tree, &fd);
}

void tree_end(struct tree *tree) {
        close_fd(&tree->fd);
        free(tree->above);
        tree->above = NULL;
}
