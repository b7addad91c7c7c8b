/* Empty files in a workspace where a protected path is missing, so that nobody can make it (life/workspace.h). USERS: the workspace's directory
 * below --root, locked, where each is written down before it is made. */
#pragma once

#include "base/error.h"
#include "spec/plan.h"
#include "spec/status.h"

/* One for every protected path of PLAN: at the first name on the way that is missing, but for a name that ends in ".lock", which programs make and
 * take for somebody else's. CODE_WORKSPACE_INVALID: the workspace is not the one that was looked at, or a symlink lies on the way. */
int placeholders_make(int users, const struct plan_plan *plan, struct error *err);

/* Takes those away that are still what was made, and what was written down of them. */
int placeholders_remove(int users, const struct status_workspace_claim *claim, struct error *err);
