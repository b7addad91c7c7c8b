#include "cmd/plan_view.h"

#include <inttypes.h>
#include <linux/ioprio.h>
#include <linux/sched.h>
#include <sys/personality.h>

#include "cmd/plan_view_text.h"
#include "plan/memory_policy.h"
#include "plan/scheduler.h"

static void view_flags(struct str *text, uint64_t flags) {
        for (unsigned bit = 0; bit < 64; bit++)
                if (flags & UINT64_C(1) << bit)
                        str_printf(text, " %s", scheduler_flag_name(UINT64_C(1) << bit) ?: "?");
}

static void view_policy(struct str *out, const struct plan_scheduler *s) {
        _cleanup_str_ struct str text = { 0 };

        str_puts(&text, scheduler_policy_name(s->policy) ?: "?");
        if (s->policy == SCHED_DEADLINE)
                str_printf(&text, ", %" PRIu64 " ns in %" PRIu64 " ns, every %" PRIu64 " ns", s->runtime, s->deadline,
                        s->period ?: s->deadline);
        else if (s->priority)
                str_printf(&text, ", priority %u", s->priority);
        else
                str_printf(&text, ", nice %d", s->nice);
        view_flags(&text, s->flags);
        view_line(out, "scheduling", text.text);
}

static void view_io_priority(struct str *out, uint32_t priority) {
        static const char *const classes[] = {
                [IOPRIO_CLASS_RT] = "real time",
                [IOPRIO_CLASS_BE] = "best effort",
                [IOPRIO_CLASS_IDLE] = "idle",
        };
        _cleanup_str_ struct str text = { 0 };
        unsigned class = IOPRIO_PRIO_CLASS(priority);

        str_printf(&text, "%s, %u", class < ELEMENTSOF(classes) && classes[class] ? classes[class] : "?",
                (unsigned)IOPRIO_PRIO_DATA(priority));
        view_line(out, "I/O priority", text.text);
}

static void put_ranges(struct str *text, const struct plan_range *ranges, size_t n) {
        for (size_t i = 0; i < n; i++) {
                str_printf(text, "%s%u", i ? "," : "", ranges[i].first);
                if (ranges[i].last > ranges[i].first)
                        str_printf(text, "-%u", ranges[i].last);
        }
}

static void view_ranges(struct str *out, const char *name, const struct plan_range *ranges, size_t n) {
        _cleanup_str_ struct str text = { 0 };

        if (n == 0)
                return;
        put_ranges(&text, ranges, n);
        view_line(out, name, text.text);
}

static void view_memory_policy(struct str *out, const struct plan_memory_policy *policy) {
        _cleanup_str_ struct str text = { 0 };

        str_puts(&text, memory_policy_name(policy->mode) ?: "?");
        for (unsigned bit = 0; bit < 32; bit++)
                if (memory_policy_flag_name(policy->mode & UINT32_C(1) << bit))
                        str_printf(&text, " %s", memory_policy_flag_name(UINT32_C(1) << bit));
        if (policy->n_nodes)
                str_puts(&text, ", nodes ");
        put_ranges(&text, policy->nodes, policy->n_nodes);
        view_line(out, "memory policy", text.text);
}

static void view_rdt(struct str *out, const struct plan_rdt *rdt) {
        view_line(out, "class of service", streq(rdt->group, "/") ? "the default one" : rdt->group);
        if (rdt->l3_cache_schema)
                view_line(out, "", rdt->l3_cache_schema);
        if (rdt->mem_bw_schema)
                view_line(out, "", rdt->mem_bw_schema);
        for (size_t i = 0; i < rdt->n_schemata; i++)
                view_line(out, "", rdt->schemata[i]);
        if (rdt->monitor)
                view_line(out, "", "with a monitoring group of its own");
}

void plan_view_scheduling(struct str *out, const struct plan_plan *plan) {
        const struct plan_process *process = plan->process;

        if (process->scheduler)
                view_policy(out, process->scheduler);
        if (process->has & PLAN_PROCESS_HAS_IO_PRIORITY)
                view_io_priority(out, process->io_priority);
        if (process->exec_affinity) {
                view_ranges(out, "CPUs of exec", process->exec_affinity->initial, process->exec_affinity->n_initial);
                view_ranges(out, "  in the cgroup", process->exec_affinity->final, process->exec_affinity->n_final);
        }
        if (plan->rdt)
                view_rdt(out, plan->rdt);
        if (plan->memory_policy)
                view_memory_policy(out, plan->memory_policy);
        if (plan->has & PLAN_PLAN_HAS_PERSONALITY)
                view_line(out, "personality", plan->personality == PER_LINUX32 ? "LINUX32" : "LINUX");
}
