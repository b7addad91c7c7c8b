/* What XFS knows of files by their inode numbers, many at a time: nobody opens them, so that a fifo, a device or a lease is nothing to us,
 * and it is five times as fast as opening each. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* One name in a directory. */
struct workspace_entry {
        const char *name;
        uint64_t inode;
        /* From workspace_inodes_look(): */
        uint32_t mode; /* st_mode; 0: gone, or never looked at */
        uint32_t links, project;
        uint32_t flags; /* FS_XFLAG_* */
};

/* Fills what the N entries, sorted by inode, say of themselves; FD is any descriptor of the file system. Needs CAP_SYS_ADMIN on the host.
 * 0 or a negative errno; -ENOTTY: it is not XFS. */
int workspace_inodes_look(int fd, struct workspace_entry *entries, size_t n);
