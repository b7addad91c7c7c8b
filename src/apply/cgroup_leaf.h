/* The leaves of a sandbox: cgroups below its own, one for its process 1 and one for each command. The sandbox's cgroup has the limits and
 * no process (cgroup-v2.rst, "No Internal Process Constraint"); a leaf has what ends together: one command that runs out of memory takes
 * its leaf along and nobody else, and cgroup.kill reaches what no signal would. Made and removed by the runtime, as cgroup.h. */
#pragma once

#include "base/error.h"
#include "spec/plan.h"

/* Hands the controllers that CGROUP needs, and those that it wants for accounting, on to the leaves of directory DIR. No process may be in
 * there any more. Errors: CODE_RESOURCE_LIMITS_UNSUPPORTED with the field of CGROUP that needs the controller. */
int cgroup_leaf_prepare(int dir, const struct plan_cgroup *cgroup, struct error *err);

/* Refuses a memory limit of CGROUP that pages could leave by way of swap: DIR has no memory.swap.max, and this kernel has swap. Admission has
 * looked at another cgroup. */
int cgroup_check_swap(int dir, const struct plan_cgroup *cgroup, struct error *err);

/* Makes the leaf NAME in DIR, repeats there the limits of CGROUP that programs read of their own cgroup to size themselves (JVM, Node, Go),
 * and has its processes killed together (memory.oom.group). CGROUP NULL: none of both. -EEXIST, ERR untouched, where it is there.
 * ret_fd: O_PATH | O_DIRECTORY, for CLONE_INTO_CGROUP */
int cgroup_leaf_make(int dir, const char *name, const struct plan_cgroup *cgroup, int *ret_fd, struct error *err);

/* Ends the leaf at PATH: kills whatever is in or below it, waits until that is dead, at most two seconds, and removes it. CODE_LOST when it
 * does not die. A leaf that is gone is fine. */
int cgroup_leaf_end(const char *path, struct error *err);
