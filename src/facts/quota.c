/* XFS project quotas, the hard limit on disk use: whether a file system counts and enforces them, and whether we may read them.
 * quotactl(2); XFS's own structures are in linux/dqblk_xfs.h. Nothing is ever set. */
#define _GNU_SOURCE
#include "facts/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/dqblk_xfs.h>
#include <linux/magic.h>
#include <linux/quota.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"

#define MOUNTINFO_MAX (16u << 20)
#define QUOTAS 64
#define PROJECT 2u /* PRJQUOTA; sys/quota.h and linux/quota.h cannot both be included */

#ifndef SYS_quotactl_fd
#define SYS_quotactl_fd 443 /* Linux 5.14; the same number everywhere */
#endif

/* glibc has no wrapper. */
static int quotactl_fd(int fd, unsigned command, unsigned id, void *data) {
        return syscall(SYS_quotactl_fd, fd, QCMD(command, PROJECT), id, data) < 0 ? -errno : 0;
}

/* Asking for the state needs no privilege, a project's limits need CAP_SYS_ADMIN on the host (check_quotactl_permission,
 * fs/quota/quota.c). ENOENT means that project 0 has no record: we were allowed to look. */
static void ask_state(int fd, struct facts_quota *quota) {
        struct fs_quota_statv state = { .qs_version = FS_QSTATV_VERSION1 };
        struct fs_disk_quota limits = { 0 };
        int r = quotactl_fd(fd, Q_XGETQSTATV, 0, &state);

        /* What XFS says when it was mounted without any quota, or built without them (xfs_fs_get_quota_state, fs/xfs/xfs_quotaops.c). */
        if (r == -ENOSYS)
                return;
        if (r < 0) {
                quota->errnum = -r;
                quota->has |= FACTS_QUOTA_HAS_ERRNUM;
                return;
        }
        quota->accounting = state.qs_flags & FS_QUOTA_PDQ_ACCT;
        quota->enforcement = state.qs_flags & FS_QUOTA_PDQ_ENFD;
        r = quotactl_fd(fd, Q_XGETQUOTA, 0, &limits);
        quota->readable = r == 0 || r == -ENOENT;
}

static struct facts_quota probe_quota(struct arena *arena, const char *mount) {
        struct facts_quota quota = { .mount = arena_strdup(arena, mount) };
        _cleanup_close_ int fd = open(mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        struct statfs fs;

        if (fd < 0 || fstatfs(fd, &fs) < 0) {
                quota.errnum = errno;
                quota.has |= FACTS_QUOTA_HAS_ERRNUM;
                return quota;
        }
        quota.xfs = fs.f_type == XFS_SUPER_MAGIC;
        if (quota.xfs)
                ask_state(fd, &quota);
        return quota;
}

struct scan {
        struct arena *arena;
        struct facts_quota *quotas;
        size_t n;
};

static bool collect_xfs(const struct probe_mount *mount, void *data) {
        struct scan *scan = data;

        if (streq(mount->type, "xfs"))
                scan->quotas[scan->n++] = probe_quota(scan->arena, mount->point);
        return scan->n < QUOTAS;
}

int probe_quotas(struct arena *arena, const char *mount, struct facts_quota **ret, size_t *ret_n, struct error *err) {
        struct scan scan = { .arena = arena, .quotas = arena_array(arena, struct facts_quota, QUOTAS) };
        _cleanup_str_ struct str text = { 0 };
        int r;

        if (mount) {
                scan.quotas[scan.n++] = probe_quota(arena, mount);
        } else {
                r = file_read(AT_FDCWD, "/proc/self/mountinfo", MOUNTINFO_MAX, &text);
                if (r < 0)
                        return fail_errno(err, CODE_CAPABILITY_UNSUPPORTED, -r, "/proc/self/mountinfo", "cannot read our mounts");
                probe_mountinfo(text.text, collect_xfs, &scan);
        }
        *ret = scan.quotas;
        *ret_n = scan.n;
        return 0;
}
