/* Going through a tree that others may have shaped, and may be changing: with one descriptor, however deep it is (a payload can nest
 * directories by the hundred thousand, and no path is as long), never out of it, and never through a symlink or a mount. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct tree {
        int fd; /* the directory we stand in, open for reading; the tree's */
        uint64_t device, inode;
        uint64_t *above; /* inodes of the directories above it, the top first */
        size_t depth, room;
};

#define TREE_NOTHING \
        { .fd = -1 }

/* Begins at directory TOP, which stays the caller's. All return 0 or a negative errno. */
int tree_begin(struct tree *tree, int top);

/* Down into NAME. Nothing has changed when it fails: -ENOENT, -ENOTDIR and -ELOOP are what a name is that somebody has replaced, -EXDEV is
 * one that something is mounted on. */
int tree_enter(struct tree *tree, const char *name);

/* Up again, by "..". -ESTALE: we were moved below another directory meanwhile. */
int tree_leave(struct tree *tree);

void tree_end(struct tree *tree);
#define _cleanup_tree_ __attribute__((cleanup(tree_end)))
