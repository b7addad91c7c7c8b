/* A live sandbox is never changed in what Sage's rules say of it. */
#pragma once

#include "plan/compilation.h"

/* Of UPDATE, what an `update` would write to the cgroup of PLAN, drops each value that Sage's resources say as well, and equally: engines send
 * what a container was made with whatever they change. CODE_INVALID_STATE with the field for one that differs. */
int sandbox_update_check(struct arena *arena, const struct plan_plan *plan, struct plan_cgroup *update, struct error *err);
