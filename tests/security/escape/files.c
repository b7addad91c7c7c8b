/* What a file's owner may do to its quota project, and what a terminal would do to its reader. */
#define _GNU_SOURCE
#include "attempt.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/quota.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_file_setattr
#define SYS_file_setattr 469 /* Linux 6.17 */
#endif
#ifndef FS_IOC32_SETFLAGS
#define FS_IOC32_SETFLAGS _IOW('f', 2, int)
#endif

/* linux/fs.h since 6.17: struct file_attr */
static struct {
        uint64_t xflags;
        uint32_t extsize, nextents, projid, cowextsize;
} file_attributes;
static struct fsxattr attributes;
static long flags;
static char quota[256];
static int file = -1, terminal = -1;

/* On the first file system there is whose files can have a project. */
static long make_file(void) {
        static const char *const places[] = { "/srv/xfs", "/var/tmp", "/root", "/tmp", "." };

        for (size_t i = 0; i < ELEMENTSOF(places); i++) {
                file = open(places[i], O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
                if (file >= 0 && ioctl(file, FS_IOC_FSGETXATTR, &attributes) == 0 && ioctl(file, FS_IOC_GETFLAGS, &flags) == 0)
                        return 0;
        }
        return 0; /* what is asked of it then tells */
}

/* The controlling one, as a payload's is. */
static long open_terminal(void) {
        int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
        char name[64];

        if (master < 0 || unlockpt(master) < 0 || ptsname_r(master, name, sizeof name) != 0)
                return -1;
        return terminal = open(name, O_RDWR | O_CLOEXEC);
}

static long on_file(const struct attempt *a) {
        return syscall(SYS_ioctl, file, a->args[1], a->args[2]);
}

static long on_terminal(const struct attempt *a) {
        return syscall(SYS_ioctl, terminal, a->args[1], a->args[2]);
}

/* With AT_EMPTY_PATH, as files without a name have it. */
static long set_file(const struct attempt *a) {
        return syscall(a->number, file, "", &file_attributes, sizeof file_attributes, AT_EMPTY_PATH);
}

#define IOCTL(text, request, pointer) \
        { text, on_file, make_file, .args = { 0, (request), POINTER(pointer) }, .refused = FILES, .or = ENOTTY }
#define TTY(text, request, pointer, outcome) \
        { text, on_terminal, open_terminal, .args = { 0, (request), POINTER(pointer) }, .refused = STRICT, .without = (outcome) }

static const struct attempt rows[] = {
        IOCTL("ioctl(FS_IOC_FSSETXATTR)", FS_IOC_FSSETXATTR, &attributes),
        IOCTL("ioctl(FS_IOC_FSSETXATTR), with bit 32", HIGH | FS_IOC_FSSETXATTR, &attributes),
        IOCTL("ioctl(FS_IOC_FSSETXATTR), with bit 63", 1ul << 63 | FS_IOC_FSSETXATTR, &attributes),
        IOCTL("ioctl(FS_IOC_FSSETXATTR), with all bits above", 0xffffffff00000000 | FS_IOC_FSSETXATTR, &attributes),
        IOCTL("ioctl(FS_IOC_SETFLAGS)", FS_IOC_SETFLAGS, &flags),
        IOCTL("ioctl(FS_IOC_SETFLAGS), with bit 32", HIGH | FS_IOC_SETFLAGS, &flags),
        { "ioctl(FS_IOC32_SETFLAGS)", on_file, make_file, .args = { 0, FS_IOC32_SETFLAGS, POINTER(&flags) }, .refused = FILES,
                .without = ENOTTY },
        { "ioctl(FS_IOC_GETFLAGS)", on_file, make_file, .args = { 0, FS_IOC_GETFLAGS, POINTER(&flags) }, .or = ENOTTY },
        { "file_setattr", set_file, make_file, .number = SYS_file_setattr, .refused = FILES, .or = EOPNOTSUPP },
        { "quotactl(Q_GETQUOTA)", CALL(SYS_quotactl, QCMD(Q_GETQUOTA, PRJQUOTA), POINTER("/escape/none"), 1, POINTER(quota)),
                .refused = FILES, .without = ENOENT, .or = ENODEV },
        { "quotactl_fd(Q_GETQUOTA)", CALL(SYS_quotactl_fd, -1ul, QCMD(Q_GETQUOTA, PRJQUOTA), 1, POINTER(quota)), .refused = FILES,
                .without = EBADF },

        TTY("ioctl(TIOCSTI)", TIOCSTI, "x", 0),
        TTY("ioctl(TIOCSTI), with bit 32", HIGH | TIOCSTI, "x", 0),
        TTY("ioctl(TIOCLINUX)", TIOCLINUX, "\2", ENOTTY),
        TTY("ioctl(TIOCLINUX), with bit 32", HIGH | TIOCLINUX, "\2", ENOTTY),
        TTY("ioctl(TIOCSETD)", TIOCSETD, &(int){ 0 }, 0),
        { "ioctl(TIOCGWINSZ)", on_terminal, open_terminal, .args = { 0, TIOCGWINSZ, POINTER(quota) }, .anybody = true },
};

const struct attempts attempts_on_files = { "files and terminals", rows, ELEMENTSOF(rows) };
