/* A plan for a person to read; `plan --json` is spec_encode(). */
#pragma once

#include "base/str.h"
#include "spec/plan.h"

/* Who the container is, what limits it, and at the end three lists: what it can read, write and reach. */
void plan_view(const struct plan_plan *plan, struct str *out);

/* Parts of it. */
void plan_view_scheduling(struct str *out, const struct plan_plan *plan);
void plan_view_readable(struct str *out, const struct plan_plan *plan);
void plan_view_writable(struct str *out, const struct plan_plan *plan);
void plan_view_reachable(struct str *out, const struct plan_plan *plan);
