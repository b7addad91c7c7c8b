#define _GNU_SOURCE
#include "life/processes.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "apply/cgroup.h"
#include "apply/cgroup_processes.h"
#include "apply/pid_namespace.h"
#include "base/fd.h"
#include "base/process.h"
#include "life/cgroup_claim.h"

/* A pid namespace that was joined has others in it. */
static int check_namespace(struct arena *arena, const struct container *container, struct error *err) {
        struct plan_plan plan;
        int r = container_load_plan(arena, container, &plan, err);

        if (r < 0 || plan.namespaces->create & CLONE_NEWPID)
                return r;
        return fail(err, CODE_CAPABILITY_UNSUPPORTED, EOPNOTSUPP, "",
                    "the container has neither a cgroup nor a pid namespace of its own to tell its processes by");
}

static int cannot_list(int r, const char *where, struct error *err) {
        return r < 0 ? fail_errno(err, CODE_INTERNAL, -r, where, "cannot list the processes of the container") : 0;
}

int container_processes(struct arena *arena, const struct container *container, void (*visit)(pid_t pid, void *data), void *data,
                        struct error *err) {
        const struct status_status *status = &container->status;
        _cleanup_close_ int pidfd = -1;
        enum oci_status now;
        int r;

        if (status->cgroup) {
                _cleanup_close_ int cgroup = -1;

                r = cgroup_claim_open(container, &cgroup);
                return cannot_list(r == 0 ? cgroup_processes(status->cgroup->path, visit, data) : r == -ENOENT ? 0 : r, status->cgroup->path, err);
        }
        if ((r = container_state(container, &now, &pidfd, err)) < 0 || pidfd < 0 || (r = check_namespace(arena, container, err)) < 0)
                return r;
        return cannot_list(pid_namespace_processes(status->init->pid, pidfd, visit, data), "/proc", err);
}

/* By pidfd: a pid that was reused since the list was read would have to have been reused before pidfd_open too, and the list is read just
 * before. */
static void signal_one(pid_t pid, void *signal) {
        _cleanup_close_ int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);

        if (pidfd >= 0)
                (void)process_signal(pidfd, *(const int *)signal);
}

static int kill_cgroup(const struct container *container, struct error *err) {
        _cleanup_close_ int dir = -1;
        int r = cgroup_claim_open(container, &dir);

        if (r < 0)
                return r == -ENOENT ? 0 : fail_errno(err, CODE_INTERNAL, -r, container->status.cgroup->path, "cannot open the container's cgroup");
        return cgroup_kill(dir, err);
}

int container_signal_all(struct arena *arena, const struct container *container, int init, int signal, struct error *err) {
        const struct status_status *status = &container->status;
        int r;

        if (signal == SIGKILL && status->cgroup)
                return kill_cgroup(container, err);
        if (!status->cgroup && init < 0)
                return fail(err, CODE_INVALID_STATE, ESRCH, "", "container not running");
        if (signal != SIGKILL)
                return container_processes(arena, container, signal_one, &signal, err);
        if ((r = check_namespace(arena, container, err)) < 0)
                return r;
        r = process_signal(init, SIGKILL);
        return r < 0 && r != -ESRCH ? fail_errno(err, CODE_INTERNAL, -r, "", "cannot kill the container's process") : 0;
}
