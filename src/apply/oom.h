/* How likely the kernel's out-of-memory killer is to choose the container's process. */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "spec/plan.h"

struct oom_loan {
        char own[16];
        size_t n; /* 0: nothing was lent */
};

/* Gives the runtime itself the oom_score_adj (proc_pid_oom_score_adj(5)) that the plan says, so that whatever it clones from here on has
 * it. The child cannot: its file in /proc is the host's root's when it is not dumpable, and in a user namespace it has no right to that. */
int oom_score_lend(const struct plan_process *process, struct oom_loan *ret, struct error *err);

/* The runtime's own is what it was: in the foreground it lives on, and shall not be chosen in the container's place. */
int oom_score_return(const struct oom_loan *loan, struct error *err);
