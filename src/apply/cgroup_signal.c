#define _GNU_SOURCE
#include "apply/cgroup_signal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "apply/cgroup.h"
#include "apply/cgroup_processes.h"
#include "base/fd.h"
#include "base/process.h"

/* By pidfd: a pid that was reused since the file was read would have to have been reused before pidfd_open too, and the list is read
 * just before. */
static void signal_one(pid_t pid, void *signal) {
        _cleanup_close_ int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);

        if (pidfd >= 0)
                (void)process_signal(pidfd, *(const int *)signal);
}

static int kill_all(const char *path, struct error *err) {
        _cleanup_close_ int dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

        if (dir < 0)
                return errno == ENOENT ? 0 : fail_errno(err, CODE_INTERNAL, errno, path, "cannot open the container's cgroup");
        return cgroup_kill(dir, err);
}

int cgroup_signal(const char *path, int signal, struct error *err) {
        int r;

        if (signal == SIGKILL)
                return kill_all(path, err);
        r = cgroup_processes(path, signal_one, &signal);
        return r < 0 ? fail_errno(err, CODE_INTERNAL, -r, path, "cannot list the processes of the container") : 0;
}
