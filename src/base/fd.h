/* Descriptors that close themselves. Every descriptor the runtime opens is close-on-exec. */
#pragma once

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

/* Closes without touching errno, so that it may run between a failure and its report. */
static inline void close_fd(int *fd) {
        int saved = errno;

        if (*fd >= 0)
                close(*fd);
        *fd = -1;
        errno = saved;
}

static inline void close_dir(DIR **dir) {
        if (*dir)
                closedir(*dir);
}

#define _cleanup_close_ __attribute__((cleanup(close_fd)))
#define _cleanup_dir_ __attribute__((cleanup(close_dir)))

static inline int take_fd(int *fd) {
        int taken = *fd;

        *fd = -1;
        return taken;
}

/* Closes every descriptor from FROM on but the N in KEEP, which it sorts; -1 stands for none (close_range(2)). 0 or a negative errno. */
int fd_keep_only(unsigned from, int *keep, size_t n);

/* Opens /dev/null, close-on-exec, for each of the N numbers from FIRST on that is free: what is opened later never gets one of them. 0 or a
 * negative errno. */
int fd_reserve(unsigned first, unsigned n);

/* "/proc/self/fd/N", for the system calls that take only a path. */
struct fd_path { char path[sizeof "/proc/self/fd/" + 10]; };
struct fd_path fd_path(int fd);
