#define _GNU_SOURCE
#include "apply/cgroup_move.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>

#include "base/file.h"
#include "base/process.h"
#include "facts/facts.h"

int cgroup_open_current(int *ret_fd) {
        char own[PATH_MAX / 2], path[PATH_MAX];
        int fd, r = process_cgroup(0, own, sizeof own);

        if (r < 0)
                return r;
        snprintf(path, sizeof path, "%s%s", facts_cgroup_mount(), own);
        fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        *ret_fd = fd;
        return 0;
}

int cgroup_move(int fd, pid_t pid) {
        char text[16];
        int n = snprintf(text, sizeof text, "%d", pid);

        return file_write(fd, "cgroup.procs", text, (size_t)n);
}
