/* One project: who belongs to it, and what it may hold. */
#define _GNU_SOURCE
#include "facts/quota.h"

#include <errno.h>
#include <linux/dqblk_xfs.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <linux/quota.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#define PROJECT 2u       /* PRJQUOTA; sys/quota.h and linux/quota.h cannot both be included */
#define BASIC_BLOCK 512u /* d_blk_hardlimit and d_bcount count these, whatever the file system's blocks are (linux/dqblk_xfs.h) */

#ifndef SYS_quotactl_fd
#define SYS_quotactl_fd 443 /* Linux 5.14; the same number everywhere */
#endif

/* glibc has no wrapper. */
static int quotactl_fd(int fd, unsigned command, unsigned id, void *data) {
        return syscall(SYS_quotactl_fd, fd, QCMD(command, PROJECT), id, data) < 0 ? -errno : 0;
}

/* Asking for the state needs no privilege, a project's limits need CAP_SYS_ADMIN on the host (check_quotactl_permission,
 * fs/quota/quota.c). ENOENT means that project 0 has no record: we were allowed to look. */
void quota_ask_state(int fd, struct facts_quota *ret) {
        struct fs_quota_statv state = { .qs_version = FS_QSTATV_VERSION1 };
        struct fs_disk_quota limits = { 0 };
        struct statfs fs;
        int r = fstatfs(fd, &fs) < 0 ? -errno : 0;

        ret->xfs = r == 0 && fs.f_type == XFS_SUPER_MAGIC;
        if (ret->xfs)
                r = quotactl_fd(fd, Q_XGETQSTATV, 0, &state);
        /* What XFS says when it was mounted without any quota, or built without them (xfs_fs_get_quota_state, fs/xfs/xfs_quotaops.c). */
        if (r < 0 && r != -ENOSYS) {
                ret->errnum = -r;
                ret->has |= FACTS_QUOTA_HAS_ERRNUM;
        }
        if (r < 0 || !ret->xfs)
                return;
        ret->accounting = state.qs_flags & FS_QUOTA_PDQ_ACCT;
        ret->enforcement = state.qs_flags & FS_QUOTA_PDQ_ENFD;
        r = quotactl_fd(fd, Q_XGETQUOTA, 0, &limits);
        ret->readable = r == 0 || r == -ENOENT;
}

int quota_attributes(int fd, struct quota_attributes *ret) {
        struct fsxattr attributes;

        if (ioctl(fd, FS_IOC_FSGETXATTR, &attributes) < 0)
                return -errno;
        ret->project = attributes.fsx_projid;
        ret->inherits = attributes.fsx_xflags & FS_XFLAG_PROJINHERIT;
        ret->realtime = attributes.fsx_xflags & (FS_XFLAG_REALTIME | FS_XFLAG_RTINHERIT);
        return 0;
}

int quota_of_project(int fd, uint32_t project, struct quota_project *ret) {
        struct fs_disk_quota quota = { 0 };
        int r = quotactl_fd(fd, Q_XGETQUOTA, project, &quota);

        if (r < 0 && r != -ENOENT) /* no record: no limit, and nothing used */
                return r;
        *ret = (struct quota_project){
                .block_hard = quota.d_blk_hardlimit * BASIC_BLOCK,
                .used_bytes = quota.d_bcount * BASIC_BLOCK,
                .inode_hard = quota.d_ino_hardlimit,
                .used_inodes = quota.d_icount,
        };
        return 0;
}

static int probe(int tree, int mount, struct facts_project *ret) {
        struct quota_attributes attributes;
        struct quota_project project;
        struct stat inside, top;
        int r;

        if (fstat(tree, &inside) < 0 || fstat(mount, &top) < 0)
                return -errno;
        ret->same_filesystem = inside.st_dev == top.st_dev;
        ret->below = inside.st_ino != top.st_ino;
        if (!ret->same_filesystem || (r = quota_attributes(tree, &attributes)) == -ENOTTY || r == -EOPNOTSUPP)
                return 0;
        if (r < 0)
                return r;
        ret->id = attributes.project;
        ret->inherits = attributes.inherits;
        ret->realtime = attributes.realtime;
        if ((r = quota_of_project(mount, ret->id, &project)) < 0)
                return r;
        ret->block_hard = project.block_hard;
        ret->inode_hard = project.inode_hard;
        ret->used_bytes = project.used_bytes;
        ret->used_inodes = project.used_inodes;
        return 0;
}

void quota_probe_project(int tree, int mount, struct facts_project *ret) {
        int r = probe(tree, mount, ret);

        if (r < 0) {
                ret->errnum = -r;
                ret->has |= FACTS_PROJECT_HAS_ERRNUM;
        }
}
