/* `mounts add` and `mounts remove`: the mounts of a container that runs are changed. */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "life/state.h"
#include "spec/plan.h"

/* Attaches the N MOUNTS (live_mounts_compile()) in the container, in order, all or none. init: pidfd of its first process.
 * What a failed attempt could not take off again makes err->effect EFFECT_APPLIED. */
int live_mounts_add(struct arena *arena, const struct container *container, int init, const struct plan_plan *plan,
        const struct plan_mount *mounts, size_t n, struct error *err);

/* Unmounts what lies at their destinations, the last first; when nothing is mounted at one of them, nothing is changed. */
int live_mounts_remove(const struct container *container, int init, const struct plan_plan *plan, const struct plan_mount *mounts, size_t n,
        struct error *err);
