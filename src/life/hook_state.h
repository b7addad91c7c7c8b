/* What a container's hooks get from it. */
#pragma once

#include "apply/hooks.h"
#include "base/arena.h"
#include "life/state.h"
#include "spec/plan.h"

/* Opens the files that the container's annotations name for the output of its hooks. */
int hook_output_of(const struct container *container, struct hook_output *ret, struct error *err);

/* What hooks outside the container get: its state document with STATUS, the bundle to start in, the output. The text lives in ARENA, the
 * files are the caller's (hook_context_close()). */
int hook_context_of(struct arena *arena, const struct container *container, enum oci_status status, struct hook_context *ret, struct error *err);

int hooks_run_poststart(struct arena *arena, const struct container *container, const struct plan_plan *plan, struct interruption *interruption,
                        struct error *err);
