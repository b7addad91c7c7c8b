/* linux.resources in the words of cgroup v2. */
#pragma once

#include "plan/compilation.h"

/* Fills CGROUP: writes (in the order they must be made), the controllers they need, those for accounting, checkMemory. What v2 has no
 * file for is refused, except values that mean "no limit" anyway. RESOURCES may be NULL. Device rules: device_rules.h. */
int cgroup_resources(struct arena *arena, const struct oci_linux_resources *resources, const char *field, struct plan_cgroup *cgroup,
                     struct warnings *warnings, struct error *err);

/* WRITE asks for what a new cgroup has anyway ("no limit"), so it is none where there is no cgroup or no controller. Pure. */
bool cgroup_write_is_nothing(const struct plan_cgroup_write *write);

/* The first write of CGROUP that limits something, of CONTROLLER ("memory") or of any (NULL); NULL when there is none. Pure. */
const struct plan_cgroup_write *cgroup_first_limit(const struct plan_cgroup *cgroup, const char *controller);
