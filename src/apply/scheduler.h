/* process.scheduler and process.ioPriority: how the CPU and the disks are shared out. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"
#include "spec/plan.h"

/* PROCESS asks for one of the two. */
bool scheduler_asked(const struct plan_process *process);

/* Sets both for PID, a child of ours that has nothing left to do but to become the payload: under some policies that may take long, and
 * SCHED_DEADLINE cannot even fork. The runtime does it, because what needs CAP_SYS_NICE needs it in the host's user namespace
 * (sched_setattr(2), ioprio_set(2)), where a child in its own has no say. Before cpuset.cpus is written to its cgroup: the kernel
 * gives SCHED_DEADLINE only to who may run on every CPU (kernel/sched/syscalls.c). */
int scheduler_set(pid_t pid, const struct plan_process *process, struct error *err);
