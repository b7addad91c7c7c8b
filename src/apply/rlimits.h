/* process.rlimits. */
#pragma once

#include <sys/types.h>

#include "base/error.h"
#include "spec/plan.h"

/* Sets them for the calling process. Raising a hard limit takes CAP_SYS_RESOURCE over the host's user namespace (setrlimit(2)), so this
 * comes before a user namespace is entered or capabilities are dropped. RLIMIT_NOFILE waits for rlimits_finish() where it would leave us
 * too few descriptors ourselves. */
int rlimits_set(const struct plan_process *process, struct error *err);

/* In two parts, for who forks in between as the payload's user, and is counted for RLIMIT_NPROC as another process of that user: first all
 * but that one, unless it becomes higher; and then that one, which takes no privilege any more. */
int rlimits_set_but_processes(const struct plan_process *process, struct error *err);
int rlimits_set_processes(const struct plan_process *process, struct error *err);

/* The same for PID, a child of ours that is in a user namespace already and can raise nothing itself. */
int rlimits_set_of(pid_t pid, const struct plan_process *process, struct error *err);

/* What waited, for the calling process: the last thing before its filter and execve(2). */
int rlimits_finish(const struct plan_process *process, struct error *err);
