/* What must be enforceable for a plan (or for the strict sandbox as such), as a set of named items. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "spec/plan.h"

/* In the order in which people read them. The names (demand_name()) are stable: hosts match on them. */
enum item {
        ITEM_KERNEL,
        ITEM_NAMESPACES,
        ITEM_USER_NAMESPACE,
        ITEM_ID_MAP,
        ITEM_IDENTITY,
        ITEM_PROC,
        ITEM_IDMAPPED_MOUNTS,
        ITEM_SECCOMP,
        ITEM_APPARMOR,
        ITEM_SELINUX,
        ITEM_SCHEDULER,
        ITEM_IO_PRIORITY,
        ITEM_MEMORY_POLICY,
        ITEM_RDT,
        ITEM_HOST_POLICY,
        ITEM_CGROUP,
        ITEM_DEVICES,
        ITEM_CPU,
        ITEM_MEMORY,
        ITEM_PROCESS_COUNT,
        ITEM_DISK,
        ITEM_IO,
        ITEM_CPUSET,
        ITEM_HUGETLB,
        ITEM_RDMA,
        ITEM_MISC,
        ITEM_COUNT
};

#define ITEM_BIT(item) (UINT64_C(1) << (item))

struct demand {
        const struct plan_plan *plan; /* NULL: the strict sandbox */
        uint64_t items;               /* ITEM_BIT()s */
        uint64_t namespaces;          /* CLONE_NEW* to be made */
        bool own_filter;              /* a sandbox's (plan/payload_filter.h), beside what linux.seccomp says */
};

/* plan may be NULL: everything that the strict sandbox enforces. */
struct demand demand_of(const struct plan_plan *plan);

const char *demand_name(enum item item);
/* The cgroup controller that enforces the item, or NULL. */
const char *demand_controller(enum item item);
/* The member of config.json that asks PLAN for the item, or NULL: none does, or one for every controller. */
const char *demand_field(const struct plan_plan *plan, enum item item);
/* One of Sage's four resource limits (missing_limits). */
bool demand_is_limit(enum item item);
