#define _GNU_SOURCE
#include "base/fd.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>

static int by_number(const void *a, const void *b) {
        return *(const int *)a - *(const int *)b;
}

int fd_keep_only(unsigned from, int *keep, size_t n) {
        qsort(keep, n, sizeof *keep, by_number);
        for (size_t i = 0; i < n; i++) {
                unsigned kept = keep[i] < 0 ? 0 : (unsigned)keep[i];

                if (kept < from)
                        continue;
                if (kept > from && syscall(SYS_close_range, from, kept - 1, 0) < 0)
                        return -errno;
                from = kept + 1;
        }
        return syscall(SYS_close_range, from, ~0u, 0) < 0 ? -errno : 0;
}

int fd_impatient_socket(int seconds) {
        const struct timeval wait = { .tv_sec = seconds };
        _cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait) < 0)
                return -errno;
        return take_fd(&fd);
}

struct fd_path fd_path(int fd) {
        struct fd_path p;

        snprintf(p.path, sizeof p.path, "/proc/self/fd/%d", fd);
        return p;
}
