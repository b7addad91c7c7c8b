#define _GNU_SOURCE
#include "life/protect.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"

#ifndef MFD_EXEC
#define MFD_EXEC 0x10u /* memfd_create(2), since 6.3 */
#endif

enum { SEALS = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE };

static const char itself[] = "/proc/self/exe";

/* Is this the sealed copy that execute_copy() made? */
static bool is_copy(void) {
        _cleanup_close_ int fd = open(itself, O_RDONLY | O_CLOEXEC);

        return fd >= 0 && fcntl(fd, F_GET_SEALS) == SEALS;
}

/* Goes on from a detached read-only mount of the file. 0 when that mount may not be made: only root of the mount namespace can. */
static int execute_read_only(char *const *argv, struct error *err) {
        struct mount_attr attributes = { .attr_set = MOUNT_ATTR_RDONLY };
        _cleanup_close_ int fd = (int)syscall(SYS_open_tree, AT_FDCWD, itself, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

        if (fd < 0 && errno == EPERM)
                return 0;
        if (fd < 0 || syscall(SYS_mount_setattr, fd, "", AT_EMPTY_PATH, &attributes, sizeof attributes) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, itself, "cannot mount this program read-only");
        syscall(SYS_execveat, fd, "", argv, environ, AT_EMPTY_PATH);
        return fail_errno(err, CODE_LAUNCH_FAILED, errno, itself, "cannot execute this program from a read-only mount");
}

/* Goes on from a copy in memory that nobody can change any more. Dearer, and open to an ordinary user. */
static int execute_copy(char *const *argv, struct error *err) {
        _cleanup_close_ int from = open(itself, O_RDONLY | O_CLOEXEC), to = -1;
        struct stat st;

        if (from < 0 || fstat(from, &st) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, itself, "cannot read this program");
        to = memfd_create("sage-runtime", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC);
        if (to < 0 && errno == EINVAL)
                to = memfd_create("sage-runtime", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        if (to < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, itself, "cannot copy this program");
        for (off_t left = st.st_size; left > 0; ) {
                ssize_t n = sendfile(to, from, NULL, (size_t)left);

                if (n <= 0)
                        return fail_errno(err, CODE_LAUNCH_FAILED, n < 0 ? errno : EIO, itself, "cannot copy this program");
                left -= n;
        }
        if (fcntl(to, F_ADD_SEALS, SEALS) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, itself, "cannot seal the copy of this program");
        syscall(SYS_execveat, to, "", argv, environ, AT_EMPTY_PATH);
        return fail_errno(err, CODE_LAUNCH_FAILED, errno, itself, "cannot execute the copy of this program");
}

int protect_binary(char *const *argv, struct error *err) {
        struct statvfs seen;
        int r;

        if (statvfs(itself, &seen) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, itself, "cannot see through which mount this program runs");
        if (seen.f_flag & ST_RDONLY)
                return 0;
        /* An ordinary user who may not write the file maps no id that may. */
        if (geteuid() != 0 && faccessat(AT_FDCWD, itself, W_OK, AT_EACCESS) < 0)
                return 0;
        if (is_copy())
                return 0;
        r = execute_read_only(argv, err);
        return r < 0 ? r : execute_copy(argv, err);
}
