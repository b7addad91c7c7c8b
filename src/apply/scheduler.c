#define _GNU_SOURCE
#include "apply/scheduler.h"

#include <errno.h>
#include <linux/ioprio.h>
#include <linux/sched.h>
#include <linux/sched/types.h>
#include <sys/syscall.h>
#include <unistd.h>

bool scheduler_asked(const struct plan_process *process) {
        return process->scheduler || process->has & PLAN_PROCESS_HAS_IO_PRIORITY;
}

/* sched_setattr(2) has one number for many reasons. */
static int explain(const struct plan_scheduler *s, int errnum, struct error *err) {
        bool deadline = s->policy == SCHED_DEADLINE;

        switch (errnum) {
        case EPERM:
                return fail(err, CODE_CAPABILITY_UNSUPPORTED, EPERM, "process.scheduler", "%s",
                        deadline ? "SCHED_DEADLINE takes CAP_SYS_NICE in the host's user namespace, and a process that may run on every "
                                   "CPU: none that joins a cgroup with fewer (cpuset.cpus)"
                                 : "this takes CAP_SYS_NICE in the host's user namespace, or an RLIMIT_RTPRIO or RLIMIT_NICE that "
                                   "allows it; with CONFIG_RT_GROUP_SCHED no cgroup but the root may hold real-time processes");
        case EBUSY:
                return fail(err, CODE_RESOURCE_EXHAUSTED, EBUSY, "process.scheduler.runtime",
                        "the processes of SCHED_DEADLINE together would need more than there is (sched(7), admission test)");
        case EOPNOTSUPP:
                return fail(err, CODE_CAPABILITY_UNSUPPORTED, EOPNOTSUPP, "process.scheduler.flags",
                        "this kernel cannot clamp utilization (CONFIG_UCLAMP_TASK)");
        case EINVAL:
                return fail(err, CODE_CAPABILITY_UNSUPPORTED, EINVAL, "process.scheduler", "%s",
                        deadline ? "this kernel refuses the runtime, deadline or period; the period's bounds are in "
                                   "/proc/sys/kernel/sched_deadline_period_min_us and sched_deadline_period_max_us"
                                 : "this kernel refuses the policy, or the flags with it");
        default:
                return fail_errno(err, CODE_LAUNCH_FAILED, errnum, "process.scheduler", "cannot set the scheduling policy");
        }
}

static int set_policy(pid_t pid, const struct plan_scheduler *s, struct error *err) {
        const struct sched_attr attr = {
                .size = sizeof attr, /* with sched_util_min and _max, which config.json has no numbers for: 0 */
                .sched_policy = s->policy,
                .sched_flags = s->flags,
                .sched_nice = s->nice,
                .sched_priority = s->priority,
                .sched_runtime = s->runtime,
                .sched_deadline = s->deadline,
                .sched_period = s->period,
        };

        return syscall(SYS_sched_setattr, pid, &attr, 0) < 0 ? explain(s, errno, err) : 0;
}

/* "The whole process group" (config.md) is this one process so far; what it forks inherits. */
static int set_io(pid_t pid, uint32_t priority, struct error *err) {
        if (syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, pid, priority) == 0)
                return 0;
        if (errno == EPERM)
                return fail(err, CODE_CAPABILITY_UNSUPPORTED, EPERM, "process.ioPriority.class",
                        "IOPRIO_CLASS_RT takes CAP_SYS_NICE in the host's user namespace");
        return fail_errno(err, CODE_LAUNCH_FAILED, errno, "process.ioPriority", "cannot set the I/O priority");
}

int scheduler_set(pid_t pid, const struct plan_process *process, struct error *err) {
        int r;

        if (process->scheduler && (r = set_policy(pid, process->scheduler, err)) < 0)
                return r;
        return process->has & PLAN_PROCESS_HAS_IO_PRIORITY ? set_io(pid, process->io_priority, err) : 0;
}
