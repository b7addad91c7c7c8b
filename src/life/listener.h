/* The seccomp notify descriptor on its way to the agent that answers for the kernel (config-linux.md, "Seccomp"; seccomp_unotify(2)). */
#pragma once

#include <sys/types.h>

#include "base/arena.h"
#include "base/error.h"
#include "life/state.h"
#include "spec/plan.h"

/* Connects to FILTER's listenerPath and sends FD with the container process state as JSON; one connection, closed after.
 * pid: of the process that the filter holds, on the host. */
int listener_send(struct arena *arena, const struct plan_filter *filter, const struct container *container, pid_t pid, int fd, struct error *err);
