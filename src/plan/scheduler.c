#include "plan/scheduler.h"

#include <linux/ioprio.h>
#include <linux/sched.h>

/* linux/sched.h, by the words of the schema. 4, SCHED_ISO, is "reserved but not implemented yet" there, and has no name. */
static const uint32_t policies[] = {
        [OCI_SCHEDULER_POLICY_SCHED_OTHER] = SCHED_NORMAL,
        [OCI_SCHEDULER_POLICY_SCHED_FIFO] = SCHED_FIFO,
        [OCI_SCHEDULER_POLICY_SCHED_RR] = SCHED_RR,
        [OCI_SCHEDULER_POLICY_SCHED_BATCH] = SCHED_BATCH,
        [OCI_SCHEDULER_POLICY_SCHED_ISO] = 4,
        [OCI_SCHEDULER_POLICY_SCHED_IDLE] = SCHED_IDLE,
        [OCI_SCHEDULER_POLICY_SCHED_DEADLINE] = SCHED_DEADLINE,
};

static const uint64_t flags[] = {
        [OCI_SCHEDULER_FLAG_SCHED_FLAG_RESET_ON_FORK] = SCHED_FLAG_RESET_ON_FORK,
        [OCI_SCHEDULER_FLAG_SCHED_FLAG_RECLAIM] = SCHED_FLAG_RECLAIM,
        [OCI_SCHEDULER_FLAG_SCHED_FLAG_DL_OVERRUN] = SCHED_FLAG_DL_OVERRUN,
        [OCI_SCHEDULER_FLAG_SCHED_FLAG_KEEP_POLICY] = SCHED_FLAG_KEEP_POLICY,
        [OCI_SCHEDULER_FLAG_SCHED_FLAG_KEEP_PARAMS] = SCHED_FLAG_KEEP_PARAMS,
        [OCI_SCHEDULER_FLAG_SCHED_FLAG_UTIL_CLAMP_MIN] = SCHED_FLAG_UTIL_CLAMP_MIN,
        [OCI_SCHEDULER_FLAG_SCHED_FLAG_UTIL_CLAMP_MAX] = SCHED_FLAG_UTIL_CLAMP_MAX,
};

static const uint32_t io_classes[] = {
        [OCI_IO_PRIORITY_CLASS_IOPRIO_CLASS_RT] = IOPRIO_CLASS_RT,
        [OCI_IO_PRIORITY_CLASS_IOPRIO_CLASS_BE] = IOPRIO_CLASS_BE,
        [OCI_IO_PRIORITY_CLASS_IOPRIO_CLASS_IDLE] = IOPRIO_CLASS_IDLE,
};

/* sched_priority(2), sched_get_priority_max(2). */
#define HIGHEST_REALTIME 99
#define LOWEST_NICE 19
#define HIGHEST_NICE -20
/* ioprio_set(2): eight levels. */
#define LOWEST_IO 7
/* sched(7), "SCHED_DEADLINE": at least 1,024 ns, less than 2^63. */
#define SHORTEST_RUNTIME 1024u
#define LONGEST_PERIOD (UINT64_MAX >> 1)

const char *scheduler_policy_name(uint32_t policy) {
        for (size_t i = 1; i < ELEMENTSOF(policies); i++)
                if (policies[i] == policy)
                        return spec_enum_name(&oci_scheduler_policy_enum, (int)i);
        return NULL;
}

const char *scheduler_flag_name(uint64_t flag) {
        for (size_t i = 1; i < ELEMENTSOF(flags); i++)
                if (flags[i] == flag)
                        return spec_enum_name(&oci_scheduler_flag_enum, (int)i);
        return NULL;
}

/* Where a scheduler's member is called so, and who called it that. */
struct asked {
        struct arena *arena;
        const struct oci_scheduler *scheduler;
        const char *field; /* "process" */
        const char *policy;
        struct warnings *warnings;
        struct error *err;
};

static int compile_flags(const struct asked *asked, struct plan_scheduler *s) {
        for (size_t i = 0; i < asked->scheduler->n_flags; i++) {
                enum oci_scheduler_flag flag = asked->scheduler->flags[i];

                if (!spec_enum_name(&oci_scheduler_flag_enum, (int)flag))
                        return INVALID(asked->err, FIELD(asked->arena, "%s.scheduler.flags[%zu]", asked->field, i),
                                "expected a flag of sched_setattr(2)");
                s->flags |= flags[flag];
        }
        return 0;
}

/* config.md lets every policy have a nice value, and engines send one along; to the kernel only these two have. */
static int compile_nice(const struct asked *asked, struct plan_scheduler *s) {
        int32_t nice = asked->scheduler->nice;

        if (nice < HIGHEST_NICE || nice > LOWEST_NICE)
                return INVALID(asked->err, FIELD(asked->arena, "%s.scheduler.nice", asked->field), "expected %d to %d, found %d",
                        HIGHEST_NICE, LOWEST_NICE, nice);
        if (nice != 0 && s->policy != SCHED_NORMAL && s->policy != SCHED_BATCH)
                warn(asked->arena, asked->warnings, "%s.scheduler.nice: only SCHED_OTHER and SCHED_BATCH look at it, and the policy is %s",
                        asked->field, asked->policy);
        s->nice = nice;
        return 0;
}

static int compile_priority(const struct asked *asked, struct plan_scheduler *s) {
        bool realtime = s->policy == SCHED_FIFO || s->policy == SCHED_RR;
        int32_t priority = asked->scheduler->priority;
        const char *field = FIELD(asked->arena, "%s.scheduler.priority", asked->field);

        if (!realtime && priority != 0)
                return INVALID(asked->err, field, "only SCHED_FIFO and SCHED_RR have one, and the policy is %s", asked->policy);
        if (realtime && !(s->flags & SCHED_FLAG_KEEP_PARAMS) && (priority < 1 || priority > HIGHEST_REALTIME))
                return INVALID(asked->err, field, "%s expects 1 to %d, found %d", asked->policy, HIGHEST_REALTIME, priority);
        s->priority = (uint32_t)priority;
        return 0;
}

/* sched(7): runtime ≤ deadline ≤ period, and a period of 0 is the deadline. */
static int check_deadline(const struct asked *asked, const struct plan_scheduler *s) {
        const struct {
                bool wrong;
                const char *member, *text;
                uint64_t found;
        } rules[] = {
                { s->runtime < SHORTEST_RUNTIME, "runtime", "SCHED_DEADLINE expects at least 1024 ns", s->runtime },
                { s->deadline > LONGEST_PERIOD, "deadline", "expected less than 2^63 ns", s->deadline },
                { s->period > LONGEST_PERIOD, "period", "expected less than 2^63 ns", s->period },
                { s->deadline < s->runtime, "deadline", "SCHED_DEADLINE expects at least the runtime", s->deadline },
                { s->period && s->period < s->deadline, "period", "SCHED_DEADLINE expects at least the deadline, or 0", s->period },
        };

        for (size_t i = 0; i < ELEMENTSOF(rules); i++)
                if (rules[i].wrong)
                        return INVALID(asked->err, FIELD(asked->arena, "%s.scheduler.%s", asked->field, rules[i].member), "%s, found %llu",
                                rules[i].text, (unsigned long long)rules[i].found);
        return 0;
}

static int compile_deadline(const struct asked *asked, struct plan_scheduler *s) {
        const struct oci_scheduler *scheduler = asked->scheduler;
        const struct {
                const char *member;
                uint64_t value;
        } members[] = {
                { "runtime", scheduler->runtime },
                { "deadline", scheduler->deadline },
                { "period", scheduler->period },
        };

        s->runtime = scheduler->runtime;
        s->deadline = scheduler->deadline;
        s->period = scheduler->period;
        if (s->policy == SCHED_DEADLINE)
                return s->flags & SCHED_FLAG_KEEP_PARAMS ? 0 : check_deadline(asked, s);
        if (s->flags & (SCHED_FLAG_RECLAIM | SCHED_FLAG_DL_OVERRUN))
                warn(asked->arena, asked->warnings,
                        "%s.scheduler.flags: only SCHED_DEADLINE looks at SCHED_FLAG_RECLAIM and SCHED_FLAG_DL_OVERRUN, and the policy is %s",
                        asked->field, asked->policy);
        for (size_t i = 0; i < ELEMENTSOF(members); i++)
                if (members[i].value != 0)
                        return INVALID(asked->err, FIELD(asked->arena, "%s.scheduler.%s", asked->field, members[i].member),
                                "only SCHED_DEADLINE has one, and the policy is %s", asked->policy);
        return 0;
}

static int compile_scheduler(const struct asked *asked, struct plan_process *ret) {
        const char *field = FIELD(asked->arena, "%s.scheduler.policy", asked->field);
        struct plan_scheduler *s = arena_new(asked->arena, struct plan_scheduler);
        int r;

        if (!asked->policy)
                return INVALID(asked->err, field, "expected a policy of sched(7)");
        if (asked->scheduler->policy == OCI_SCHEDULER_POLICY_SCHED_ISO)
                return UNSUPPORTED(asked->err, field, "no Linux kernel has SCHED_ISO (linux/sched.h: reserved, not implemented)");
        s->policy = policies[asked->scheduler->policy];
        if ((r = compile_flags(asked, s)) < 0 || (r = compile_nice(asked, s)) < 0 || (r = compile_priority(asked, s)) < 0 ||
                (r = compile_deadline(asked, s)) < 0)
                return r;
        ret->scheduler = s;
        return 0;
}

static int compile_io_priority(
        struct arena *arena, const struct oci_io_priority *asked, const char *field, struct plan_process *ret, struct error *err) {
        if (!spec_enum_name(&oci_io_priority_class_enum, (int)asked->class))
                return INVALID(err, FIELD(arena, "%s.ioPriority.class", field), "expected a class of ioprio_set(2)");
        if (asked->priority < 0 || asked->priority > LOWEST_IO)
                return INVALID(
                        err, FIELD(arena, "%s.ioPriority.priority", field), "expected 0 to %d, found %d", LOWEST_IO, asked->priority);
        ret->io_priority = io_classes[asked->class] << IOPRIO_CLASS_SHIFT | (uint32_t)asked->priority;
        ret->has |= PLAN_PROCESS_HAS_IO_PRIORITY;
        return 0;
}

int scheduler_compile(struct arena *arena, const struct oci_process *process, const char *field, struct plan_process *ret,
        struct warnings *warnings, struct error *err) {
        const struct oci_scheduler *scheduler = process->scheduler;
        int r;

        if (scheduler) {
                const struct asked asked = { .arena = arena,
                        .scheduler = scheduler,
                        .field = field,
                        .warnings = warnings,
                        .err = err,
                        .policy = spec_enum_name(&oci_scheduler_policy_enum, (int)scheduler->policy) };

                if ((r = compile_scheduler(&asked, ret)) < 0)
                        return r;
        }
        return process->io_priority ? compile_io_priority(arena, process->io_priority, field, ret, err) : 0;
}

/* sched(7): a process of SCHED_DEADLINE cannot fork, unless what it forks gets another policy. The container's process has its policy
 * when it runs these hooks. */
int scheduler_check_hooks(struct compilation *c) {
        const struct plan_scheduler *s = c->plan->process->scheduler;
        const struct oci_hooks *hooks = c->request->config->hooks;

        if (!s || s->policy != SCHED_DEADLINE || s->flags & SCHED_FLAG_RESET_ON_FORK || !hooks || hooks->n_start_container == 0)
                return 0;
        return INVALID(c->err, "process.scheduler.flags",
                "expected SCHED_FLAG_RESET_ON_FORK: without it, a process of SCHED_DEADLINE cannot fork the startContainer hooks");
}
