/* How likely the kernel's out-of-memory killer is to choose the container's process. */
#pragma once

#include "base/error.h"
#include "spec/plan.h"

/* Writes /proc/self/oom_score_adj (proc_pid_oom_score_adj(5)) where the plan says a value; the host's /proc must still be there. */
int oom_score_adjust(const struct plan_process *process, struct error *err);
