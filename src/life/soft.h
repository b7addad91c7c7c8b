/* After each command of a sandbox with limits that are sampled: has the monitor ended it, and did the command leave more on disk than the
 * sandbox may have? Between two looks of the monitor a command may have written a lot and ended. */
#pragma once

#include "base/arena.h"
#include "life/outcome.h"
#include "life/state.h"

/* Fills in ending->loss and ending->disk, which live in ARENA. A sandbox with too much on disk is lost and ended. What cannot be found out (the
 * sandbox was deleted meanwhile) stays as it was. */
void soft_check(struct arena *arena, const struct container *container, const struct plan_plan *plan, struct ending *ending);

/* The same for the container ID below ROOT. */
void soft_check_of(struct arena *arena, const char *root, const char *id, struct ending *ending);

bool soft_is_sampled(const struct sage_limits *limits);

/* Does what is written below this mount count? */
bool soft_counts(const struct plan_mount *m);
