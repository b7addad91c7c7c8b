/* A container's resources, changed while it lives. Pure. */
#pragma once

#include "plan/compilation.h"

/* What `update` has to write for RESOURCES, in the view of the plan that the container was made by.
 *
 * Two files hold two values each, of which a caller may name one: the other is taken from the plan, so that a new period does not take
 * the quota away. Device rules take the place of all that are in force.
 *
 * identity    may be NULL where RESOURCES has no device rules
 * ret_update  the writes, and the controllers that they need; limitDevices is there only when other device rules are asked for
 * ret_kept    the plan's cgroup with those writes in place of what they replace, to be kept in the container's state */
int cgroup_update_compile(struct arena *arena, const struct oci_linux_resources *resources, const struct plan_plan *plan,
                          const struct facts_identity *identity, struct plan_cgroup **ret_update, struct plan_cgroup **ret_kept, struct error *err);
