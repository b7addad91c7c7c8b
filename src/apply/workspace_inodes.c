/* XFS_IOC_BULKSTAT, as ioctl_xfs_bulkstat(2) and ioctl_xfs_bulkreq(2) (xfsprogs) describe it; Linux 5.2. The layout is the kernel's
 * fs/xfs/libxfs/xfs_fs.h, which no package of headers that a build needs has. */
#define _GNU_SOURCE
#include "apply/workspace_inodes.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>

struct bulk_head {
        uint64_t inode; /* the first that we want */
        uint32_t flags;
        uint32_t room; /* how many at most */
        uint32_t found;
        uint32_t group;
        uint64_t reserved[5];
};

struct bulk_inode {
        uint64_t inode, size, blocks, flags;
        int64_t times[4];
        uint32_t generation, uid, gid, project;
        uint32_t nanoseconds[4];
        uint32_t block_size, rdev, cow_extent_size, extent_size;
        uint32_t links, extents, attribute_extents;
        uint16_t version, fork_offset, sick, checked, mode, pad;
        uint64_t reserved[7];
};

_Static_assert(sizeof(struct bulk_head) == 64 && sizeof(struct bulk_inode) == 192, "as the kernel has them");

#define XFS_IOC_BULKSTAT _IOR('X', 127, struct bulk_head) /* the head's size alone, though inodes follow it */
/* XFS allocates inodes, and finds them, in chunks of so many (XFS_INODES_PER_CHUNK): what is in one costs one look-up. */
#define CHUNK 64u

struct request {
        struct bulk_head head;
        struct bulk_inode inodes[CHUNK];
};

static bool same_chunk(uint64_t a, uint64_t b) {
        return a / CHUNK == b / CHUNK;
}

static void take(struct workspace_entry *entry, const struct bulk_inode *inode) {
        entry->mode = inode->mode;
        entry->links = inode->links;
        entry->project = inode->project;
        entry->flags = (uint32_t)inode->flags;
}

/* Both are sorted, and two names may have one inode. */
static void match(struct workspace_entry *entries, size_t n, const struct request *request) {
        size_t at = 0;

        for (size_t i = 0; i < n; i++) {
                while (at < request->head.found && request->inodes[at].inode < entries[i].inode)
                        at++;
                if (at < request->head.found && request->inodes[at].inode == entries[i].inode)
                        take(&entries[i], &request->inodes[at]);
        }
}

int workspace_inodes_look(int fd, struct workspace_entry *entries, size_t n) {
        struct request request;
        size_t last;

        for (size_t first = 0; first < n; first = last) {
                for (last = first + 1; last < n && same_chunk(entries[first].inode, entries[last].inode);)
                        last++;
                memset(&request.head, 0, sizeof request.head);
                request.head.inode = entries[first].inode;
                request.head.room = (uint32_t)(entries[last - 1].inode - entries[first].inode) + 1;
                if (ioctl(fd, XFS_IOC_BULKSTAT, &request) < 0)
                        return -errno;
                match(entries + first, last - first, &request);
        }
        return 0;
}
