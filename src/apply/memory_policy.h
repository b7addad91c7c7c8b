/* linux.memoryPolicy: on which nodes a container's memory lies. */
#pragma once

#include "base/error.h"
#include "spec/plan.h"

/* Sets it for the calling process, which keeps it over execve(2), where the plan has one. In the container's cgroup and after the last write
 * to cpuset.mems: a policy that was there before is folded onto other nodes by that (set_mempolicy(2)). */
int memory_policy_set(const struct plan_plan *plan, struct error *err);
