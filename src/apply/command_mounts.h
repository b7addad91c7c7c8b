/* What each command of a sandbox sees of its own: /proc, and its cgroup at /sys/fs/cgroup. */
#pragma once

#include "base/error.h"
#include "spec/plan.h"

/* In a process that has its own PID, cgroup and mount namespaces, the last one a copy of the sandbox's: puts a procfs of this PID namespace
 * over the sandbox's, with the masked and read-only paths of PLAN that lie in it, and likewise a cgroup2 that begins at this process's
 * cgroup. The working directory is "/" afterwards. */
int command_mounts_renew(const struct plan_plan *plan, struct error *err);
