#define _GNU_SOURCE
#include "base/fd.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>

static int by_number(const void *a, const void *b) {
        return *(const int *)a - *(const int *)b;
}

int fd_keep_only(unsigned from, int *keep, size_t n) {
        qsort(keep, n, sizeof *keep, by_number);
        for (size_t i = 0; i < n; i++) {
                unsigned kept = (unsigned)keep[i];

                if (keep[i] < 0 || kept < from)
                        continue;
                if (kept > from && syscall(SYS_close_range, from, kept - 1, 0) < 0)
                        return -errno;
                from = kept + 1;
        }
        return syscall(SYS_close_range, from, ~0u, 0) < 0 ? -errno : 0;
}

int fd_reserve(unsigned first, unsigned n) {
        for (unsigned fd = first; n > 0; fd++, n--) {
                _cleanup_close_ int null = -1;

                if (fcntl((int)fd, F_GETFD) >= 0)
                        continue;
                null = open("/dev/null", O_RDWR | O_CLOEXEC);
                if (null < 0)
                        return -errno;
                if (null == (int)fd)
                        (void)take_fd(&null);
                else if (dup3(null, (int)fd, O_CLOEXEC) < 0)
                        return -errno;
        }
        return 0;
}

struct fd_path fd_path(int fd) {
        struct fd_path p;

        snprintf(p.path, sizeof p.path, "/proc/self/fd/%d", fd);
        return p;
}
