#define _GNU_SOURCE
#include "apply/mount_copyup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/str.h"

/* The image decides how deep its directories nest; each level costs us two descriptors and a few KiB of stack. */
#define DEPTH_MAX 200

struct copy {
        const char *field;
        dev_t device;
        struct error *err;
};

static int copy_directory(const struct copy *copy, int from, int to, int depth);

/* What NAME is was made by us a moment ago, but in a container that is there already others see it, may have put a symlink in its place by now,
 * and hope that we follow it. Owner before mode: chown(2) clears the set-user-id bits. FD: NAME opened, or -1 for what has no mode that could
 * be set without following. */
static int copy_attributes(int at, const char *name, int fd, const struct stat *st) {
        const struct timespec times[] = { st->st_atim, st->st_mtim };

        if (fd < 0)
                return fchownat(at, name, st->st_uid, st->st_gid, AT_SYMLINK_NOFOLLOW) < 0 ||
                                utimensat(at, name, times, AT_SYMLINK_NOFOLLOW) < 0
                        ? -errno
                        : 0;
        if (fchown(fd, st->st_uid, st->st_gid) < 0 || fchmod(fd, st->st_mode & 07777) < 0)
                return -errno;
        return futimens(fd, times) < 0 ? -errno : 0;
}

/* No more than there were when we came: whoever can write to it could make it longer as fast as we read. */
static int copy_bytes(int from, int to, off_t left) {
        char chunk[16384];

        while (left > 0) {
                ssize_t n = read(from, chunk, left < (off_t)sizeof chunk ? (size_t)left : sizeof chunk);
                int r;

                if (n < 0 && errno == EINTR)
                        continue;
                if (n <= 0)
                        return n < 0 ? -errno : 0;
                r = file_write_all(to, chunk, (size_t)n);
                if (r < 0)
                        return r;
                left -= n;
        }
        return 0;
}

/* O_NONBLOCK: whatever takes the file's place in the meantime must not make us wait. */
static int copy_file(int from, int to, const char *name, const struct stat *st) {
        _cleanup_close_ int in = openat(from, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), out = -1;
        int r;

        if (in < 0)
                return -errno;
        out = openat(to, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (out < 0)
                return -errno;
        r = copy_bytes(in, out, st->st_size);
        return r < 0 ? r : copy_attributes(to, name, out, st);
}

static int copy_link(int from, int to, const char *name, const struct stat *st) {
        char target[PATH_MAX];
        ssize_t n = readlinkat(from, name, target, sizeof target - 1);

        if (n < 0)
                return -errno;
        target[n] = '\0';
        return symlinkat(target, to, name) < 0 ? -errno : copy_attributes(to, name, -1, st);
}

/* A device, a FIFO, or a socket. */
static int copy_node(int to, const char *name, const struct stat *st) {
        mode_t before = umask(0);
        int r = mknodat(to, name, st->st_mode, st->st_rdev) < 0 ? -errno : 0;

        umask(before);
        return r < 0 ? r : copy_attributes(to, name, -1, st);
}

/* 0 or -errno of NAME itself; what fails deeper has filled ERR already and comes back as 1. */
static int copy_below(const struct copy *copy, int from, int to, const char *name, const struct stat *st, int depth) {
        _cleanup_close_ int in = openat(from, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), out = -1;

        if (in < 0)
                return -errno;
        if (mkdirat(to, name, 0700) < 0)
                return -errno;
        out = openat(to, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (out < 0)
                return -errno;
        if (st->st_dev == copy->device && copy_directory(copy, in, out, depth + 1) < 0)
                return 1;
        return copy_attributes(to, name, out, st);
}

static int copy_entry(const struct copy *copy, int from, int to, const char *name, int depth) {
        struct stat st;
        int r;

        if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) < 0)
                r = -errno;
        else if (S_ISDIR(st.st_mode))
                r = copy_below(copy, from, to, name, &st, depth);
        else if (S_ISREG(st.st_mode))
                r = copy_file(from, to, name, &st);
        else if (S_ISLNK(st.st_mode))
                r = copy_link(from, to, name, &st);
        else
                r = copy_node(to, name, &st);
        if (r < 0)
                return fail_errno(copy->err, CODE_LAUNCH_FAILED, -r, copy->field, "cannot copy %s into the new tmpfs (tmpcopyup)", name);
        return r > 0 ? -EIO : 0;
}

/* getdents64(2) by hand, because readdir(3) takes memory from the heap. */
static int copy_directory(const struct copy *copy, int from, int to, int depth) {
        _Alignas(struct dirent64) char entries[4096];

        if (depth > DEPTH_MAX)
                return fail_errno(copy->err, CODE_LAUNCH_FAILED, ELOOP, copy->field, "directories nest too deep to be copied (tmpcopyup)");
        for (;;) {
                long n = syscall(SYS_getdents64, from, entries, sizeof entries);

                if (n < 0)
                        return fail_errno(
                                copy->err, CODE_LAUNCH_FAILED, errno, copy->field, "cannot read a directory to be copied (tmpcopyup)");
                if (n == 0)
                        return 0;
                for (long at = 0; at < n;) {
                        const struct dirent64 *entry = (const void *)(entries + at);
                        int r = 0;

                        if (!streq(entry->d_name, ".") && !streq(entry->d_name, ".."))
                                r = copy_entry(copy, from, to, entry->d_name, depth);
                        if (r < 0)
                                return r;
                        at += entry->d_reclen;
                }
        }
}

int mount_copyup(int from, int to, const char *field, struct error *err) {
        _cleanup_close_ int in = openat(from, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC),
                            out = openat(to, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        struct copy copy = { .field = field, .err = err };
        struct stat st;

        if (in < 0 || out < 0 || fstat(in, &st) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, field, "cannot open what is to be copied (tmpcopyup)");
        copy.device = st.st_dev;
        return copy_directory(&copy, in, out, 0);
}
