/* On which CPUs a container's processes may run, beside what their cgroup says. Since Linux 6.2 a mask that was set by hand outlives
 * a change of the cpuset (kernel/sched/core.c, user_cpus_ptr), so one that the runtime has from its caller, a service pinned to a few
 * CPUs for example, would stay with the container for ever. runc and crun undo it as well. */
#pragma once

#include <sys/types.h>

#include "base/error.h"
#include "spec/plan.h"

/* Gives PID, a child of ours in its cgroup already, every CPU that the cgroup allows, now and later. */
int affinity_reset(pid_t pid, struct error *err);

/* process.execCPUAffinity.initial, where PROCESS has it: for the runtime itself, before it makes the process that joins the container,
 * so that it is no burden to CPUs that others need for themselves. The child inherits it, and the runtime keeps it. */
int affinity_begin(const struct plan_process *process, struct error *err);

/* process.execCPUAffinity.final, where PROCESS has it: for PID, that joined and is in its cgroup. With neither of the two, a reset. */
int affinity_finish(pid_t pid, const struct plan_process *process, struct error *err);
