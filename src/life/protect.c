#define _GNU_SOURCE
#include "life/protect.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"

int protect_binary(char *const *argv, struct error *err) {
        struct mount_attr attributes = { .attr_set = MOUNT_ATTR_RDONLY };
        _cleanup_close_ int fd = -1;
        struct statvfs seen;

        if (statvfs("/proc/self/exe", &seen) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "/proc/self/exe", "cannot see through which mount this program runs");
        if (seen.f_flag & ST_RDONLY)
                return 0;
        /* An ordinary user who may not write the file maps no id that may. */
        if (geteuid() != 0 && faccessat(AT_FDCWD, "/proc/self/exe", W_OK, AT_EACCESS) < 0)
                return 0;
        fd = (int)syscall(SYS_open_tree, AT_FDCWD, "/proc/self/exe", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
        if (fd < 0 || syscall(SYS_mount_setattr, fd, "", AT_EMPTY_PATH, &attributes, sizeof attributes) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "/proc/self/exe", "cannot mount this program read-only");
        syscall(SYS_execveat, fd, "", argv, environ, AT_EMPTY_PATH);
        return fail_errno(err, CODE_LAUNCH_FAILED, errno, "/proc/self/exe", "cannot execute this program from a read-only mount");
}
