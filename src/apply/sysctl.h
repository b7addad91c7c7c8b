/* linux.sysctl. Which keys a container may set is decided by compile; here they are written. */
#pragma once

#include "base/error.h"
#include "spec/plan.h"

/* In the child, when its namespaces are what they will be, before rootfs_enter() (the host's /proc is used, or one that is mounted
 * nowhere). */
int sysctls_write(const struct plan_plan *plan, struct error *err);
