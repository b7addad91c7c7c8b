#define _GNU_SOURCE
#include "apply/mount_namespace.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/process.h"
#include "base/str.h"
#include "facts/probe.h"

#define FIRST_MOUNTS "/proc/1/mountinfo"
#define MOUNTINFO_MAX (16u << 20)

/* How the process ended that looked at the namespace from inside. */
enum { OTHER, SAME, NO_RIGHTS, UNKNOWN };

/* Two descriptors of one namespace have one inode (namespaces(7)). 1, 0, or a negative errno. */
static int is_namespace(int fd, const char *path) {
        struct stat a, b;

        if (fstat(fd, &a) < 0 || stat(path, &b) < 0)
                return -errno;
        return a.st_ino == b.st_ino && a.st_dev == b.st_dev;
}

/* What is mounted last is on top. */
static bool note_root(const struct probe_mount *mount, void *data) {
        unsigned *root = data;

        if (streq(mount->point, "/"))
                *root = mount->id;
        return true;
}

/* Ids of mounts are the kernel's, no two namespaces have the same (fs/namespace.c, mnt_id_ida). */
__attribute__((noreturn)) static void compare_inside(int fd, unsigned root) {
        struct statx stx;

        if (setns(fd, CLONE_NEWNS) < 0)
                _exit(errno == EPERM ? NO_RIGHTS : UNKNOWN);
        if (statx(AT_FDCWD, "/", 0, STATX_MNT_ID, &stx) < 0 || !(stx.stx_mask & STATX_MNT_ID))
                _exit(UNKNOWN);
        _exit(stx.stx_mnt_id == root ? SAME : OTHER);
}

/* Of a process 1 that has capabilities which we have not, as a container's that made this one, /proc does not tell the namespace (ptrace(2),
 * PTRACE_MODE_READ_FSCREDS), but it tells the mounts. Where we have no rights over the namespace, neither has a container of ours over that
 * of process 1. 1, 0, or a negative errno. */
static int is_first_by_root(int fd) {
        _cleanup_str_ struct str text = { 0 };
        _cleanup_close_ int pidfd = -1;
        int status = UNKNOWN, r = file_read(AT_FDCWD, FIRST_MOUNTS, MOUNTINFO_MAX, &text);
        unsigned root = 0;
        pid_t pid;

        if (r < 0)
                return r;
        probe_mountinfo(text.text, note_root, &root);
        if (root == 0) /* it has changed its root to what is no mount */
                return -EACCES;
        pid = process_clone(0, -1, &pidfd);
        if (pid == 0)
                compare_inside(fd, root);
        if (pid < 0)
                return pid;
        if ((r = process_reap(pidfd, &status)) < 0)
                return r;
        return status == SAME ? 1 : status == OTHER || status == NO_RIGHTS ? 0 : -EACCES;
}

int mount_namespace_check(int fd, struct error *err) {
        int own = is_namespace(fd, "/proc/self/ns/mnt"), first = own == 0 ? is_namespace(fd, "/proc/1/ns/mnt") : 0;

        if (own > 0)
                return fail(err, CODE_CONFIG_INVALID, EPERM, "linux.namespaces",
                        "the mount namespace to join is our own, and its root would be replaced");
        if (first == -EACCES || first == -EPERM)
                first = is_first_by_root(fd);
        if (first > 0)
                return fail(err, CODE_CONFIG_INVALID, EPERM, "linux.namespaces",
                        "the mount namespace to join is that of process 1, and the host's root would be replaced");
        if (own < 0 || first < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, own < 0 ? -own : -first, "linux.namespaces",
                        "cannot tell whether the mount namespace to join is our own or that of process 1, whose root would be replaced");
        return 0;
}
