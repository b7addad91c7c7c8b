/* process.rlimits. */
#pragma once

#include "base/error.h"
#include "spec/plan.h"

/* Sets them for the calling process. Raising a hard limit takes CAP_SYS_RESOURCE over the host's user namespace (setrlimit(2)), so this comes
 * before a user namespace is entered or capabilities are dropped. */
int rlimits_set(const struct plan_process *process, struct error *err);
