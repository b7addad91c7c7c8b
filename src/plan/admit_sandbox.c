/* What a strict sandbox demands that its request has given no means for. */
#define _GNU_SOURCE
#include "plan/admit_rows.h"

#include "base/str.h"

/* What nothing was configured for can only be sampled (sandbox.c). */
static const char *only_sampled(const struct question *q, const struct obstacle *row, enum item item) {
        const struct plan_plan *plan = q->demand.plan;
        const struct sage_limits *limits = plan && plan->sandbox ? plan->sandbox->limits : NULL;
        const struct {
                enum item item;
                enum sage_limit_state state;
        } of[] = {
                { ITEM_CPU, limits ? limits->cpu : 0 },
                { ITEM_MEMORY, limits ? limits->memory : 0 },
                { ITEM_PROCESS_COUNT, limits ? limits->process_count : 0 },
                { ITEM_DISK, limits ? limits->disk : 0 },
        };

        (void)row;
        for (size_t i = 0; i < ELEMENTSOF(of); i++)
                if (of[i].item == item && of[i].state == SAGE_LIMIT_STATE_SAMPLED)
                        return "hard limits are required, and nothing says where this host has them";
        return NULL;
}

static const struct obstacle rows[] = {
        { "limits.not_configured", ITEM_BIT(ITEM_CPU) | ITEM_BIT(ITEM_MEMORY) | ITEM_BIT(ITEM_PROCESS_COUNT) | ITEM_BIT(ITEM_DISK),
                only_sampled, 0,
                "name linux_cgroup_root and linux_quota_mount, in the host policy for all, or set require_hard_limits to false" },
};

const struct obstacles admit_sandbox_obstacles = { rows, ELEMENTSOF(rows) };
