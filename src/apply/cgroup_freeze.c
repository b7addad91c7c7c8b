#define _GNU_SOURCE
#include "apply/cgroup_freeze.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>

#include "apply/cgroup_file.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/time.h"

#define WAIT_US UINT64_C(2000000)

bool cgroup_frozen(const char *path) {
        char file[PATH_MAX], events[CGROUP_FILE_SIZE];

        return snprintf(file, sizeof file, "%s/cgroup.events", path) < (int)sizeof file &&
               cgroup_file_read(AT_FDCWD, file, events) == 0 && cgroup_event(events, "frozen");
}

/* A process inside a system call that cannot be interrupted freezes when it comes out, so this may take a while. The kernel wakes pollers
 * of cgroup.events when the last one has stopped, and when the first one runs. */
static int wait_until(int dir, bool frozen) {
        _cleanup_close_ int file = openat(dir, "cgroup.events", O_RDONLY | O_CLOEXEC);
        uint64_t deadline = time_monotonic_us() + WAIT_US, now;
        char events[CGROUP_FILE_SIZE];
        int r;

        if (file < 0)
                return -errno;
        while ((r = cgroup_file_read_fd(file, events)) == 0 && cgroup_event(events, "frozen") != frozen) {
                struct pollfd poll_file = { .fd = file, .events = POLLPRI };

                now = time_monotonic_us();
                if (now >= deadline)
                        return -ETIMEDOUT;
                (void)poll(&poll_file, 1, (int)((deadline - now) / 1000 + 1));
        }
        return r;
}

int cgroup_freeze(const char *path, bool freeze, struct error *err) {
        _cleanup_close_ int dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        int r = dir < 0 ? -errno : file_write(dir, "cgroup.freeze", freeze ? "1" : "0", 1);

        if (r < 0)
                return fail_errno(err, CODE_INTERNAL, -r, path, "cannot %s the cgroup", freeze ? "freeze" : "thaw");
        r = wait_until(dir, freeze);
        if (r == 0)
                return 0;
        if (freeze)
                (void)file_write(dir, "cgroup.freeze", "0", 1);
        if (r == -ETIMEDOUT && freeze)
                return fail(err, CODE_TIMEOUT, ETIMEDOUT, path, "after 2 seconds a process has still not stopped; the container goes on");
        if (r == -ETIMEDOUT)
                return fail(err, CODE_TIMEOUT, ETIMEDOUT, path, "the cgroup does not thaw: is one above it frozen?");
        return fail_errno(err, CODE_INTERNAL, -r, path, "cannot see whether the cgroup is frozen");
}
