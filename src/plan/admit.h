/* May this plan run on this host? Pure: a plan's demands against facts. What is missing comes back as gaps, each with a code of its
 * own, the item that it breaks and what the administrator can do. `check` prints them, `create` refuses because of them. */
#pragma once

#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "spec/facts.h"
#include "spec/plan.h"

struct gap {
        const char *code;   /* stable: "userns.apparmor_restricted" */
        const char *limit;  /* demand_name() of what cannot be enforced; one obstacle may give several gaps */
        const char *text;   /* what was expected and what was found */
        const char *remedy; /* what the administrator can do */
};

/* plan NULL asks for the strict sandbox as such. A fact that was not probed is no gap: ask facts_need() for admit_needs() first.
 *
 * Returns 0 when everything that is demanded can be enforced. Else -EOPNOTSUPP with CODE_RESOURCE_LIMITS_UNSUPPORTED (one of cpu,
 * memory, process_count, disk is among it) or CODE_CAPABILITY_UNSUPPORTED, and ERR tells the first gap. RET_GAPS and RET_N are set
 * in both cases and live in ARENA. */
int admit(struct arena *arena, const struct plan_plan *plan, const struct facts_facts *facts, struct gap **ret_gaps, size_t *ret_n,
        struct error *err);

/* FACTS_* that a launch of the plan should know. Nothing in it is expensive: the trial clone and the walk over all mounts are left to
 * `check`, and a launch finds out by itself. NULL: all that there is. */
unsigned admit_needs(const struct plan_plan *plan);
