/* Project quotas of XFS, asked by descriptor: whether a file system counts and enforces them, which project a directory belongs to, and
 * what that project may hold and holds. Nothing is ever set. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "spec/facts.h"

/* What XFS says of the file system of FD; all false where it is not XFS, or was mounted without quotas. Sets errnum where it cannot be
 * asked. */
void quota_ask_state(int fd, struct facts_quota *ret);

/* The project that file or directory FD (opened for reading, not O_PATH) belongs to. -ENOTTY and -EOPNOTSUPP: this file system knows none. */
struct quota_attributes {
        uint32_t project;
        bool inherits; /* what is made in it becomes the project's (FS_XFLAG_PROJINHERIT) */
        bool realtime; /* its blocks, or those of what is made in it, lie in the realtime section, which no block limit counts */
};
int quota_attributes(int fd, struct quota_attributes *ret);

/* What PROJECT may hold and holds on the file system of FD; a limit of 0 is none. Needs CAP_SYS_ADMIN on the host. 0 or a negative errno. */
struct quota_project {
        uint64_t block_hard, used_bytes; /* bytes */
        uint64_t inode_hard, used_inodes;
};
int quota_of_project(int fd, uint32_t project, struct quota_project *ret);

/* Both, of directory TREE on the file system of MOUNT. What cannot be asked stays 0 and leaves its errno in ret->errnum. */
void quota_probe_project(int tree, int mount, struct facts_project *ret);
