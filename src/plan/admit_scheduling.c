/* Obstacles to scheduling policies, I/O priorities, memory policies and classes of service. */
#define _GNU_SOURCE
#include "plan/admit_rows.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/ioprio.h>
#include <linux/mempolicy.h>
#include <linux/sched.h>
#include <string.h>

#include "facts/facts.h"
#include "plan/cpu_list.h"
#include "plan/memory_policy.h"
#include "plan/scheduler.h"

/* sched(7), "Privileges and resource limits"; SCHED_DEADLINE has no limit that would allow it. */
static const char *policy_unprivileged(const struct question *q, const struct obstacle *row, enum item item) {
        const struct facts_priorities *priorities = q->facts->priorities;
        const struct facts_identity *identity = q->facts->identity;
        const struct plan_scheduler *s = q->demand.plan ? q->demand.plan->process->scheduler : NULL;

        (void)row, (void)item;
        if (!s || !identity || !priorities || facts_capable(identity, CAP_SYS_NICE))
                return NULL;
        switch (s->policy) {
        case SCHED_DEADLINE:
                return arena_printf(q->arena, "SCHED_DEADLINE takes CAP_SYS_NICE, and uid %u does not have it", identity->euid);
        case SCHED_FIFO:
        case SCHED_RR:
                if (s->priority <= priorities->realtime)
                        return NULL;
                return arena_printf(q->arena, "%s with priority %u takes CAP_SYS_NICE, which uid %u does not have, and RLIMIT_RTPRIO is %u",
                        scheduler_policy_name(s->policy), s->priority, identity->euid, priorities->realtime);
        default:
                if (s->nice >= 0 || s->nice >= priorities->nice)
                        return NULL;
                return arena_printf(q->arena,
                        "a nice value of %d takes CAP_SYS_NICE, which uid %u does not have, and RLIMIT_NICE allows %d", s->nice,
                        identity->euid, priorities->nice);
        }
}

/* ioprio_set(2) */
static const char *class_unprivileged(const struct question *q, const struct obstacle *row, enum item item) {
        const struct plan_process *process = q->demand.plan ? q->demand.plan->process : NULL;
        const struct facts_identity *identity = q->facts->identity;

        (void)row, (void)item;
        if (!process || !identity || IOPRIO_PRIO_CLASS(process->io_priority) != IOPRIO_CLASS_RT || facts_capable(identity, CAP_SYS_NICE) ||
                facts_capable(identity, CAP_SYS_ADMIN))
                return NULL;
        return arena_printf(q->arena, "IOPRIO_CLASS_RT takes CAP_SYS_NICE, and uid %u does not have it", identity->euid);
}

static const char *policies_unavailable(const struct question *q, const struct obstacle *row, enum item item) {
        const struct facts_numa *numa = q->facts->numa;

        (void)row, (void)item;
        if (!numa || !(numa->has & FACTS_NUMA_HAS_ERRNUM))
                return NULL;
        if (numa->errnum == ENOSYS)
                return "this kernel has no memory policies (CONFIG_NUMA)";
        return arena_printf(q->arena, "memory policies cannot be asked for here: %s; an outer container's seccomp filter may be why",
                strerror(numa->errnum));
}

static const char *mode_too_new(const struct question *q, const struct obstacle *row, enum item item) {
        const struct plan_memory_policy *policy = q->demand.plan ? q->demand.plan->memory_policy : NULL;
        const struct facts_kernel *kernel = q->facts->kernel;
        unsigned major, minor;

        (void)row, (void)item;
        if (!policy || !kernel)
                return NULL;
        memory_policy_since(policy->mode, &major, &minor);
        if (!admit_kernel_before(kernel, major, minor))
                return NULL;
        return arena_printf(q->arena, "%s%s needs Linux %u.%u, found %s", memory_policy_name(policy->mode),
                policy->mode & MPOL_F_NUMA_BALANCING ? " with MPOL_F_NUMA_BALANCING" : "", major, minor, kernel->release);
}

static bool overlap(const struct plan_range *a, size_t n_a, const struct plan_range *b, size_t n_b) {
        for (size_t i = 0; i < n_a; i++)
                for (size_t k = 0; k < n_b; k++)
                        if (a[i].first <= b[k].last && b[k].first <= a[i].last)
                                return true;
        return false;
}

/* set_mempolicy(2), EINVAL: "nodemask does not contain at least one node that is online, allowed … and contains memory". Relative nodes are
 * folded onto those there are. */
static const char *nodes_missing(const struct question *q, const struct obstacle *row, enum item item) {
        const struct plan_memory_policy *policy = q->demand.plan ? q->demand.plan->memory_policy : NULL;
        const struct facts_numa *numa = q->facts->numa;
        struct plan_range *nodes;
        struct error ignored;
        size_t n;

        (void)row, (void)item;
        if (!policy || policy->n_nodes == 0 || policy->mode & MPOL_F_RELATIVE_NODES || !numa || !numa->nodes ||
                cpu_list_parse(q->arena, numa->nodes, UINT32_MAX, "", &nodes, &n, &ignored) < 0 ||
                overlap(policy->nodes, policy->n_nodes, nodes, n))
                return NULL;
        return arena_printf(q->arena, "of this host's memory nodes (%s) linux.memoryPolicy.nodes names none", numa->nodes);
}

/* Intel RDT and its like. What DETAIL names is asked for and not there. */
enum { RDT_MOUNT, RDT_CACHE, RDT_BANDWIDTH, RDT_MONITORING, RDT_RIGHT };

static const char *rdt_lacks(const struct question *q, const struct obstacle *row, enum item item) {
        const struct plan_rdt *rdt = q->demand.plan ? q->demand.plan->rdt : NULL;
        const struct facts_rdt *facts = q->facts->rdt;
        static const char *const texts[] = {
                [RDT_MOUNT] = "linux.intelRdt is asked for, and no resctrl file system is mounted",
                [RDT_CACHE] = "linux.intelRdt.l3CacheSchema is asked for, and this processor or kernel cannot share out its cache",
                [RDT_BANDWIDTH] = "linux.intelRdt.memBwSchema is asked for, and this processor or kernel cannot share out memory bandwidth",
                [RDT_MONITORING] = "linux.intelRdt.enableMonitoring is asked for, and this processor or kernel has no monitoring groups",
                [RDT_RIGHT] = "linux.intelRdt is asked for, and only root of the host may change classes of service",
        };

        (void)item;
        if (!rdt || !facts)
                return NULL;
        if (!facts->root)
                return row->detail == RDT_MOUNT ? texts[RDT_MOUNT] : NULL;
        if ((row->detail == RDT_CACHE && rdt->l3_cache_schema && !facts->cache) ||
                (row->detail == RDT_BANDWIDTH && rdt->mem_bw_schema && !facts->bandwidth) ||
                (row->detail == RDT_MONITORING && rdt->monitor && !facts->monitoring) || (row->detail == RDT_RIGHT && !facts->writable))
                return texts[row->detail];
        return NULL;
}

static const struct obstacle rows[] = {
        { "scheduler.unprivileged", ITEM_BIT(ITEM_SCHEDULER), policy_unprivileged, 0,
                "run as root of the host, raise RLIMIT_RTPRIO or RLIMIT_NICE, or take process.scheduler out of the bundle" },
        { "io_priority.unprivileged", ITEM_BIT(ITEM_IO_PRIORITY), class_unprivileged, 0,
                "run as root of the host, or ask for IOPRIO_CLASS_BE" },
        { "memory_policy.unavailable", ITEM_BIT(ITEM_MEMORY_POLICY), policies_unavailable, 0,
                "take linux.memoryPolicy out of the bundle, or let the outer container call set_mempolicy" },
        { "memory_policy.mode_missing", ITEM_BIT(ITEM_MEMORY_POLICY), mode_too_new, 0, "install a newer kernel, or ask for another mode" },
        { "memory_policy.nodes_missing", ITEM_BIT(ITEM_MEMORY_POLICY), nodes_missing, 0,
                "name at least one node of /sys/devices/system/node/has_memory" },
        { "rdt.missing", ITEM_BIT(ITEM_RDT), rdt_lacks, RDT_MOUNT,
                "mount it (mount -t resctrl resctrl /sys/fs/resctrl), or take linux.intelRdt out of the bundle" },
        { "rdt.cache_missing", ITEM_BIT(ITEM_RDT), rdt_lacks, RDT_CACHE, "boot with rdt=l3cat on a processor that has it" },
        { "rdt.bandwidth_missing", ITEM_BIT(ITEM_RDT), rdt_lacks, RDT_BANDWIDTH, "boot with rdt=mba on a processor that has it" },
        { "rdt.monitoring_missing", ITEM_BIT(ITEM_RDT), rdt_lacks, RDT_MONITORING, "boot with rdt=cmt on a processor that has it" },
        { "rdt.unprivileged", ITEM_BIT(ITEM_RDT), rdt_lacks, RDT_RIGHT,
                "run as root of the host, or take linux.intelRdt out of the bundle" },
};

const struct obstacles admit_scheduling_obstacles = { rows, ELEMENTSOF(rows) };
