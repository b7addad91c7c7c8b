#define _GNU_SOURCE
#include "plan/admit.h"

#include <errno.h>
#include <sched.h>

#include "base/str.h"
#include "facts/facts.h"
#include "plan/admit_rows.h"
#include "plan/cgroup_resources.h"
#include "plan/disk.h"

bool admit_listed(const char *word, const char *const *words, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (streq(word, words[i]))
                        return true;
        return false;
}

const char *admit_list(struct arena *arena, const char *const *words, size_t n) {
        const char *text = n ? words[0] : "none";

        for (size_t i = 1; i < n; i++)
                text = arena_printf(arena, "%s, %s", text, words[i]);
        return text;
}

bool admit_kernel_before(const struct facts_kernel *kernel, unsigned major, unsigned minor) {
        return kernel->major < major || (kernel->major == major && kernel->minor < minor);
}

static const struct obstacles *const subjects[] = {
        &admit_namespace_obstacles,
        &admit_security_obstacles,
        &admit_scheduling_obstacles,
        &admit_cgroup_obstacles,
        &admit_cgroup_root_obstacles,
        &admit_quota_obstacles,
        &admit_sandbox_obstacles,
};

/* Every item that ROW breaks becomes a gap in GAPS (NULL: only counted). */
static size_t add_gaps(const struct question *q, const struct obstacle *row, struct gap *gaps) {
        size_t n = 0;

        for (enum item item = 0; item < ITEM_COUNT; item++) {
                const char *text;

                if (!(q->demand.items & row->items & ITEM_BIT(item)))
                        continue;
                text = row->find(q, row, item);
                if (!text)
                        continue;
                if (gaps)
                        gaps[n] = (struct gap){ row->code, demand_name(item), text, row->remedy };
                n++;
        }
        return n;
}

static size_t find_gaps(const struct question *q, struct gap *gaps) {
        size_t n = 0;

        for (size_t s = 0; s < ELEMENTSOF(subjects); s++)
                for (size_t i = 0; i < subjects[s]->n; i++)
                        n += add_gaps(q, &subjects[s]->rows[i], gaps ? gaps + n : NULL);
        return n;
}

static enum code refusal_code(const struct gap *gaps, size_t n) {
        for (enum item item = 0; item < ITEM_COUNT; item++)
                for (size_t i = 0; demand_is_limit(item) && i < n; i++)
                        if (streq(gaps[i].limit, demand_name(item)))
                                return CODE_RESOURCE_LIMITS_UNSUPPORTED;
        return CODE_CAPABILITY_UNSUPPORTED;
}

/* As struct error has them. */
static uint16_t missing_limits(const struct gap *gaps, size_t n) {
        uint16_t missing = 0;

        for (unsigned limit = 0; limit < ERROR_LIMITS; limit++)
                for (size_t i = 0; i < n; i++)
                        if (streq(gaps[i].limit, error_limit_name(limit)))
                                missing |= (uint16_t)(1u << limit);
        return missing;
}

/* The member of config.json that asks for the item called NAME; NAME itself where it is not one. */
static const char *field_of(const struct plan_plan *plan, const char *name) {
        const struct plan_cgroup_write *limit = NULL;
        enum item item = 0;

        if (!plan)
                return name;
        while (!streq(name, demand_name(item)))
                item++;
        if (item == ITEM_CGROUP || demand_controller(item))
                limit = cgroup_first_limit(plan->cgroup, demand_controller(item));
        return limit ? limit->field : demand_field(plan, item) ?: name;
}

int admit(struct arena *arena, const struct plan_plan *plan, const struct facts_facts *facts, struct gap **ret_gaps, size_t *ret_n,
        struct error *err) {
        const struct question q = { .arena = arena, .demand = demand_of(plan), .facts = facts,
                .disk_bytes = plan && plan->sage ? disk_limit(plan->sage) : 0 };
        size_t n = find_gaps(&q, NULL);
        struct gap *gaps = arena_array(arena, struct gap, n + 1);

        find_gaps(&q, gaps);
        *ret_gaps = gaps;
        *ret_n = n;
        if (n == 0)
                return 0;
        fail(err, refusal_code(gaps, n), EOPNOTSUPP, field_of(plan, gaps[0].limit), "%s: %s; %s", gaps[0].code, gaps[0].text,
                gaps[0].remedy);
        err->limits = missing_limits(gaps, n);
        return -EOPNOTSUPP;
}

unsigned admit_needs(const struct plan_plan *plan) {
        struct demand demand = demand_of(plan);
        const uint64_t of_kernel = ITEM_BIT(ITEM_SECCOMP) | ITEM_BIT(ITEM_APPARMOR) | ITEM_BIT(ITEM_SELINUX) |
                ITEM_BIT(ITEM_IDMAPPED_MOUNTS);
        unsigned parts = FACTS_IDENTITY;

        if (!plan)
                return FACTS_ALL;
        if (demand.items & of_kernel)
                parts |= FACTS_KERNEL;
        if (demand.items & ITEM_BIT(ITEM_MEMORY_POLICY))
                parts |= FACTS_NUMA | FACTS_KERNEL;
        if (demand.items & ITEM_BIT(ITEM_RDT))
                parts |= FACTS_RDT;
        if (demand.items & ITEM_BIT(ITEM_SCHEDULER))
                parts |= FACTS_PRIORITIES;
        if (demand.namespaces & CLONE_NEWUSER)
                parts |= FACTS_USERNS;
        if (demand.items & ITEM_BIT(ITEM_DISK))
                parts |= FACTS_QUOTA | FACTS_PROJECT;
        if (plan->ids->use_helpers)
                parts |= FACTS_SUBIDS;
        if (demand.items & ITEM_BIT(ITEM_CGROUP))
                parts |= FACTS_CGROUP;
        if ((demand.items & ITEM_BIT(ITEM_CGROUP)) && plan->cgroup->n_controllers)
                parts |= FACTS_CONTROLLERS;
        if (plan->sandbox && plan->cgroup->n_controllers)
                parts |= FACTS_DELEGATION | FACTS_CGROUP_ROOT;
        return parts;
}
