/* Processes that may trace others without being their parent: CAP_SYS_PTRACE over the user namespace that the runtime's own processes belong to.
 * They could take over a command that exec lets into their pid namespace while it still holds what is the host's, dumpable or not. */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

#include "life/state.h"
#include "spec/plan.h"

/* May what PROCESS says, or what it executes, be one? */
bool tracers_possible(const struct plan_process *process);

/* One is let into the pid namespace PIDS (stat(2) of it): written down before it is there in the status of the container that has made that
 * namespace, if it is below ROOT, so that its execs reckon with it. Waits for an exec that is under way there. ID is not looked at: the caller
 * has it locked. */
int tracers_tell(struct arena *arena, const char *root, const char *id, const struct stat *pids, struct error *err);
