#define _GNU_SOURCE
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

int file_read_fd(int fd, size_t max, struct str *out) {
        char chunk[16384];
        size_t total = 0;

        for (;;) {
                ssize_t n = read(fd, chunk, sizeof chunk);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return -errno;
                if (n == 0)
                        break;
                total += (size_t)n;
                if (total > max)
                        return -EFBIG;
                str_add(out, chunk, (size_t)n);
        }
        if (!out->text)
                str_puts(out, "");
        return 0;
}

int file_read(int dir, const char *path, size_t max, struct str *out) {
        _cleanup_close_ int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);

        return fd < 0 ? -errno : file_read_fd(fd, max, out);
}

int file_write(int dir, const char *path, const void *data, size_t n) {
        _cleanup_close_ int fd = openat(dir, path, O_WRONLY | O_CLOEXEC);
        ssize_t written;

        if (fd < 0)
                return -errno;
        do
                written = write(fd, data, n);
        while (written < 0 && errno == EINTR);
        if (written < 0)
                return -errno;
        return (size_t)written == n ? 0 : -EIO;
}

int file_write_all(int fd, const void *data, size_t n) {
        const char *at = data;

        while (n > 0) {
                ssize_t written = write(fd, at, n);

                if (written < 0 && errno == EINTR)
                        continue;
                if (written < 0)
                        return -errno;
                at += written;
                n -= (size_t)written;
        }
        return 0;
}

int file_replace(int dir, const char *name, mode_t mode, const void *data, size_t n) {
        _cleanup_close_ int fd = -1;
        char beside[256];
        int r;

        if (snprintf(beside, sizeof beside, ".%s.new", name) >= (int)sizeof beside)
                return -ENAMETOOLONG;
        fd = openat(dir, beside, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, mode);
        if (fd < 0)
                return -errno;
        r = file_write_all(fd, data, n);
        if (r == 0 && renameat(dir, beside, dir, name) < 0)
                r = -errno;
        if (r < 0)
                unlinkat(dir, beside, 0);
        return r;
}
