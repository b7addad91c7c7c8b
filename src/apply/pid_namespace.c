#define _GNU_SOURCE
#include "apply/pid_namespace.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/process.h"

enum { DEPTH_MAX = 32 }; /* MAX_PID_NS_LEVEL, include/linux/pid_namespace.h */

static bool is_same(const struct stat *a, const struct stat *b) {
        return a->st_ino == b->st_ino && a->st_dev == b->st_dev;
}

/* Does the namespace FD lie below WANTED? ioctl_ns(2): NS_GET_PARENT ends with EPERM at the caller's own. */
static bool is_below(int fd, const struct stat *wanted) {
        _cleanup_close_ int at = fcntl(fd, F_DUPFD_CLOEXEC, 0);
        struct stat st;

        for (int depth = 0; at >= 0 && depth < DEPTH_MAX; depth++) {
                int parent = ioctl(at, NS_GET_PARENT);

                close_fd(&at);
                at = parent;
                if (at >= 0 && fstat(at, &st) == 0 && is_same(&st, wanted))
                        return true;
        }
        return false;
}

static bool is_member(int proc, const char *pid, const struct stat *wanted, const struct stat *own) {
        _cleanup_close_ int fd = -1;
        char path[64];
        struct stat st;

        if (snprintf(path, sizeof path, "%s/ns/pid", pid) >= (int)sizeof path || fstatat(proc, path, &st, 0) < 0 || is_same(&st, own))
                return false;
        if (is_same(&st, wanted))
                return true;
        fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
        return fd >= 0 && is_below(fd, wanted);
}

int pid_namespace_processes(pid_t init, int pidfd, void (*visit)(pid_t pid, void *data), void *data) {
        _cleanup_dir_ DIR *proc = opendir("/proc");
        struct stat wanted, own;
        char path[64];

        snprintf(path, sizeof path, "/proc/%d/ns/pid", init);
        if (!proc || stat("/proc/self/ns/pid", &own) < 0)
                return -errno;
        if (stat(path, &wanted) < 0)
                return errno == ENOENT ? 0 : -errno;
        if (process_signal(pidfd, 0) < 0) /* PATH was of another process, perhaps */
                return 0;
        for (struct dirent *entry; (entry = readdir(proc)); ) {
                char *end;
                long pid = strtol(entry->d_name, &end, 10);

                if (pid > 0 && *end == '\0' && is_member(dirfd(proc), entry->d_name, &wanted, &own))
                        visit((pid_t)pid, data);
        }
        return 0;
}
