#define _GNU_SOURCE
#include "plan/demand.h"

#include <sched.h>

#include "base/str.h"
#include "plan/payload_filter.h"

#define STRICT_NAMESPACES (CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP)

#define STRICT_ITEMS \
        (ITEM_BIT(ITEM_KERNEL) | ITEM_BIT(ITEM_NAMESPACES) | ITEM_BIT(ITEM_USER_NAMESPACE) | ITEM_BIT(ITEM_IDENTITY) | \
                ITEM_BIT(ITEM_PROC) | ITEM_BIT(ITEM_SECCOMP) | ITEM_BIT(ITEM_HOST_POLICY) | ITEM_BIT(ITEM_CGROUP) | ITEM_BIT(ITEM_CPU) | \
                ITEM_BIT(ITEM_MEMORY) | ITEM_BIT(ITEM_PROCESS_COUNT) | ITEM_BIT(ITEM_DISK))

static const struct {
        const char *name;
        const char *controller;
        bool limit;
        const char *field; /* of config.json */
} items[ITEM_COUNT] = {
        [ITEM_KERNEL] = { "kernel", NULL, false },
        [ITEM_NAMESPACES] = { "namespaces", NULL, false, "linux.namespaces" },
        [ITEM_USER_NAMESPACE] = { "user_namespace", NULL, false, "linux.namespaces" },
        [ITEM_ID_MAP] = { "id_map", NULL, false, "linux.uidMappings" },
        [ITEM_IDENTITY] = { "identity", NULL, false },
        [ITEM_PROC] = { "proc", NULL, false },
        [ITEM_IDMAPPED_MOUNTS] = { "idmapped_mounts", NULL, false, "mounts" },
        [ITEM_SECCOMP] = { "seccomp", NULL, false, "linux.seccomp" },
        [ITEM_APPARMOR] = { "apparmor", NULL, false, "process.apparmorProfile" },
        [ITEM_SELINUX] = { "selinux", NULL, false, "process.selinuxLabel" },
        [ITEM_SCHEDULER] = { "scheduler", NULL, false, "process.scheduler" },
        [ITEM_IO_PRIORITY] = { "io_priority", NULL, false, "process.ioPriority" },
        [ITEM_MEMORY_POLICY] = { "memory_policy", NULL, false, "linux.memoryPolicy" },
        [ITEM_RDT] = { "rdt", NULL, false, "linux.intelRdt" },
        [ITEM_HOST_POLICY] = { "host_policy", NULL, false },
        [ITEM_CGROUP] = { "cgroup", NULL, false },
        [ITEM_DEVICES] = { "devices", NULL, false, "linux.resources.devices" },
        [ITEM_CPU] = { "cpu", "cpu", true },
        [ITEM_MEMORY] = { "memory", "memory", true },
        [ITEM_PROCESS_COUNT] = { "process_count", "pids", true },
        [ITEM_DISK] = { "disk", NULL, true, "sage.sandbox.resources.disk_mb" },
        [ITEM_IO] = { "io", "io", false },
        [ITEM_CPUSET] = { "cpuset", "cpuset", false },
        [ITEM_HUGETLB] = { "hugetlb", "hugetlb", false },
        [ITEM_RDMA] = { "rdma", "rdma", false },
        [ITEM_MISC] = { "misc", "misc", false },
};

static bool named(const char *text) {
        return text && *text;
}

const char *demand_name(enum item item) {
        return items[item].name;
}

const char *demand_controller(enum item item) {
        return items[item].controller;
}

const char *demand_field(const struct plan_plan *plan, enum item item) {
        if (item == ITEM_SELINUX && !named(plan->process->selinux_label))
                return "linux.mountLabel";
        if (item == ITEM_SECCOMP && !plan->filter)
                return "sage.sandbox";
        return items[item].field;
}

bool demand_is_limit(enum item item) {
        return items[item].limit;
}

static uint64_t if_bit(bool condition, enum item item) {
        return condition ? ITEM_BIT(item) : 0;
}

static uint64_t cgroup_items(const struct plan_cgroup *cgroup) {
        uint64_t set = 0;

        if (cgroup->manager == PLAN_CGROUP_MANAGER_DISABLED)
                return 0;
        for (size_t i = 0; i < cgroup->n_controllers; i++)
                for (enum item item = 0; item < ITEM_COUNT; item++)
                        if (items[item].controller && streq(items[item].controller, cgroup->controllers[i]))
                                set |= ITEM_BIT(item);
        return set | ITEM_BIT(ITEM_CGROUP) | if_bit(cgroup->limit_devices, ITEM_DEVICES);
}

static uint64_t mount_items(const struct plan_plan *plan) {
        uint64_t set = 0;

        for (size_t i = 0; i < plan->n_mounts; i++) {
                const struct plan_mount *mount = &plan->mounts[i];

                set |= if_bit(mount->kind == PLAN_MOUNT_KIND_FILESYSTEM && mount->type && streq(mount->type, "proc"), ITEM_PROC);
                set |= if_bit(mount->idmap, ITEM_IDMAPPED_MOUNTS);
        }
        return set;
}

static uint64_t process_items(const struct plan_plan *plan) {
        const char *profile = plan->process->apparmor_profile;

        /* "unconfined" is what a process is where there is no AppArmor. */
        return if_bit(named(profile) && !streq(profile, "unconfined"), ITEM_APPARMOR) |
                if_bit(named(plan->process->selinux_label) || named(plan->rootfs->mount_label), ITEM_SELINUX) |
                if_bit(plan->process->scheduler, ITEM_SCHEDULER) |
                if_bit(plan->process->has & PLAN_PROCESS_HAS_IO_PRIORITY, ITEM_IO_PRIORITY);
}

static uint64_t if_hard(bool required, enum sage_limit_state state, enum item item) {
        return if_bit(required || state == SAGE_LIMIT_STATE_HARD, item);
}

/* A limit that was configured must hold, also where it might be sampled; one that is required must have been. */
static uint64_t sandbox_items(const struct plan_plan *plan) {
        const struct sage_limits *limits = plan->sandbox->limits;
        const struct sage_resources *resources = plan->sage->resources;
        bool required = !resources || resources->require_hard_limits;

        return if_hard(required, limits->cpu, ITEM_CPU) | if_hard(required, limits->memory, ITEM_MEMORY) |
                if_hard(required, limits->process_count, ITEM_PROCESS_COUNT) | if_hard(required, limits->disk, ITEM_DISK);
}

struct demand demand_of(const struct plan_plan *plan) {
        struct demand demand = { .plan = plan };
        bool userns;

        if (!plan)
                return (struct demand){ .own_filter = true, .items = STRICT_ITEMS, .namespaces = STRICT_NAMESPACES };
        demand.namespaces = plan->namespaces->create;
        demand.own_filter = plan->sage && payload_filter_parts(plan->sage);
        userns = demand.namespaces & CLONE_NEWUSER;
        demand.items = ITEM_BIT(ITEM_KERNEL) | cgroup_items(plan->cgroup) | mount_items(plan) | process_items(plan);
        demand.items |= if_bit(demand.namespaces || plan->namespaces->n_join, ITEM_NAMESPACES);
        demand.items |= if_bit(userns, ITEM_USER_NAMESPACE);
        demand.items |= if_bit(userns && (plan->ids->n_uid_map || plan->ids->n_gid_map), ITEM_ID_MAP);
        demand.items |= if_bit(plan->filter || demand.own_filter, ITEM_SECCOMP) | if_bit(plan->memory_policy, ITEM_MEMORY_POLICY);
        demand.items |= if_bit(plan->rdt, ITEM_RDT) | (plan->sandbox ? sandbox_items(plan) : 0);
        return demand;
}
