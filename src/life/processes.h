/* All processes of a container: those of its cgroup, or, where it has none, of the pid namespace that was made for it. */
#pragma once

#include <sys/types.h>

#include "base/error.h"
#include "life/state.h"

/* Calls VISIT for each, with its pid in the caller's pid namespace. CODE_CAPABILITY_UNSUPPORTED for a container with neither, whose
 * processes nobody can tell from others. ARENA: for the plan, where that has to be read. */
int container_processes(struct arena *arena, const struct container *container, void (*visit)(pid_t pid, void *data), void *data,
                        struct error *err);

/* Sends SIGNAL to each. SIGKILL misses nobody: cgroup.kill, or the death of the namespace's process 1 (pid_namespaces(7)). Of the others a
 * process that forks meanwhile may have a child that gets none. That there is no process left is success.
 *
 * init  pidfd of the container's first process, -1 when that has ended */
int container_signal_all(struct arena *arena, const struct container *container, int init, int signal, struct error *err);
