/* An XFS file system in a file, for tests in a child (in_child.h). The kernel need not have quotas: projects are there without. */
#pragma once

#include <linux/fs.h>
#include <sys/ioctl.h>

#include "in_child.h"

/* Mounts one at "xfs" below the working directory, which goes with the mount namespace; the child skips its test where that cannot be. */
static inline void mount_xfs(void) {
        if (system("truncate -s 400M image && mkfs.xfs -q image >/dev/null 2>&1 && mkdir xfs && mount -o loop image xfs 2>/dev/null") != 0)
                _exit(SKIPPED);
}

static inline void set_attributes(const char *path, uint32_t project, uint32_t flags) {
        int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
        struct fsxattr attributes;

        CHECK(fd >= 0 && ioctl(fd, FS_IOC_FSGETXATTR, &attributes) == 0);
        attributes.fsx_projid = project;
        attributes.fsx_xflags = flags;
        CHECK(ioctl(fd, FS_IOC_FSSETXATTR, &attributes) == 0);
        close(fd);
}

static inline void make_directory_of(const char *path, uint32_t project) {
        CHECK(mkdir(path, 0755) == 0);
        set_attributes(path, project, FS_XFLAG_PROJINHERIT);
}
