/* process.apparmorProfile and process.selinuxLabel. */
#pragma once

#include "base/error.h"
#include "spec/plan.h"

/* The label that the next execve(2) of this process takes on; last of all before it, because a fork inherits it.
 * proc: from procfs_open(), taken while /proc could be trusted; -1 opens /proc now. Nothing is opened where no label is asked for. */
int lsm_set_exec_label(const struct plan_process *process, int proc, struct error *err);
