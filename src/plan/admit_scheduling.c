/* Obstacles to scheduling policies and I/O priorities. */
#define _GNU_SOURCE
#include "plan/admit_rows.h"

#include <linux/capability.h>
#include <linux/ioprio.h>
#include <linux/sched.h>

#include "facts/facts.h"
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
                return arena_printf(q->arena, "a nice value of %d takes CAP_SYS_NICE, which uid %u does not have, and RLIMIT_NICE allows %d",
                                    s->nice, identity->euid, priorities->nice);
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

static const struct obstacle rows[] = {
        { "scheduler.unprivileged", ITEM_BIT(ITEM_SCHEDULER), policy_unprivileged, 0,
          "run as root of the host, raise RLIMIT_RTPRIO or RLIMIT_NICE, or take process.scheduler out of the bundle" },
        { "io_priority.unprivileged", ITEM_BIT(ITEM_IO_PRIORITY), class_unprivileged, 0,
          "run as root of the host, or ask for IOPRIO_CLASS_BE" },
};

const struct obstacles admit_scheduling_obstacles = { rows, ELEMENTSOF(rows) };
