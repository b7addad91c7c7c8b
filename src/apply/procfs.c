#define _GNU_SOURCE
#include "apply/procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/fd.h"

#define PROC_ROOT_INODE 1 /* include/linux/proc_fs.h, PROC_ROOT_INO */

int procfs_open(int *ret_proc, struct error *err) {
        _cleanup_close_ int fd = open("/proc", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        struct statfs fs;
        struct stat st;

        if (fd < 0 || fstatfs(fd, &fs) < 0 || fstat(fd, &st) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "/proc", "cannot open the proc file system");
        if (fs.f_type != PROC_SUPER_MAGIC || st.st_ino != PROC_ROOT_INODE)
                return fail(err, CODE_LAUNCH_FAILED, EXDEV, "/proc", "this is not the root of a proc file system");
        *ret_proc = take_fd(&fd);
        return 0;
}

int procfs_open_detached(int *ret_proc) {
        _cleanup_close_ int context = fsopen("proc", FSOPEN_CLOEXEC);
        int fd;

        if (context < 0 || fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
                return -errno;
        fd = fsmount(context, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
        if (fd < 0)
                return -errno;
        *ret_proc = fd;
        return 0;
}

int procfs_write(int proc, const char *path, const char *text) {
        const struct open_how how = {
                .flags = O_WRONLY | O_CLOEXEC,
                .resolve = RESOLVE_BENEATH | RESOLVE_NO_XDEV | RESOLVE_NO_MAGICLINKS,
        };
        _cleanup_close_ int fd = (int)syscall(SYS_openat2, proc, path, &how, sizeof how);
        size_t n = strlen(text);
        ssize_t written;

        if (fd < 0)
                return -errno;
        written = write(fd, text, n);
        if (written < 0)
                return -errno;
        return (size_t)written == n ? 0 : -EIO;
}
