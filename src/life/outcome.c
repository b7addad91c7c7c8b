#include "life/outcome.h"

#include <signal.h>

#include "base/str.h"

#include "apply/project_quota.h"

/* What is used since BEFORE in the cgroups around. */
static uint64_t since(const struct ending *e, enum cgroup_use use) {
        if (!cgroup_usage_has(&e->after, use) || !cgroup_usage_has(&e->before, use) || e->after.of[use] < e->before.of[use])
                return 0;
        return e->after.of[use] - e->before.of[use];
}

static bool died_of(const struct ending *e, int signal) {
        return e->process.signal == signal || e->process.exit_code == 128 + signal;
}

/* A count of the command's own cgroup is about the command, also where a process of it was hit that is not its first. What is counted for the
 * whole container may have hit somebody else: then the command must have died as one does who was hit. */
static bool was_out_of_memory(const struct ending *e) {
        if (cgroup_usage_has(&e->own, USE_OOM_KILLS))
                return e->own.of[USE_OOM_KILLS] > 0;
        return since(e, USE_OOM_KILLS) > 0 && died_of(e, SIGKILL);
}

/* pids.events of a cgroup counts what was refused in it; from Linux 6.11 on, what its own limit refused, in or below it. So both are asked. */
static bool was_out_of_processes(const struct ending *e) {
        return (cgroup_usage_has(&e->own, USE_PIDS_REFUSED) && e->own.of[USE_PIDS_REFUSED] > 0) || since(e, USE_PIDS_REFUSED) > 0;
}

/* Which limit of a monitor's ended the sandbox with the command; 0: none. */
static enum sage_outcome of_loss(const struct loss *loss) {
        static const struct {
                const char *limit;
                enum sage_outcome outcome;
        } rows[] = {
                { "memory", SAGE_OUTCOME_OOM_KILLED },
                { "process_count", SAGE_OUTCOME_PIDS_LIMITED },
                { "disk", SAGE_OUTCOME_QUOTA_EXCEEDED },
        };

        for (size_t i = 0; loss && i < sizeof rows / sizeof *rows; i++)
                if (streq(loss->limit, rows[i].limit))
                        return rows[i].outcome;
        return 0;
}

/* What put an end to it comes first, then what may have made it fail, then what is known of its output. A limit that was met by a command which
 * succeeded all the same has not decided its outcome. */
static enum sage_outcome classify(const struct ending *e, const struct error *err) {
        bool failed = e->process.signal || e->process.exit_code;

        if (err && err->code == CODE_LOST)
                return SAGE_OUTCOME_LOST;
        if (e->reason == END_TIMEOUT)
                return SAGE_OUTCOME_TIMED_OUT;
        if (!e->launched)
                return SAGE_OUTCOME_LAUNCH_FAILED;
        if (of_loss(e->loss))
                return of_loss(e->loss);
        if (e->reason == END_CANCELLED)
                return SAGE_OUTCOME_SIGNALLED;
        if (failed && was_out_of_memory(e))
                return SAGE_OUTCOME_OOM_KILLED;
        if (failed && was_out_of_processes(e))
                return SAGE_OUTCOME_PIDS_LIMITED;
        if (failed && e->disk && project_quota_full(e->disk))
                return SAGE_OUTCOME_QUOTA_EXCEEDED;
        if (e->output && e->output->over)
                return SAGE_OUTCOME_OUTPUT_LIMIT;
        return e->process.signal ? SAGE_OUTCOME_SIGNALLED : SAGE_OUTCOME_EXITED;
}

static struct sage_error *describe(struct arena *arena, const struct error *err) {
        struct sage_error *e = arena_new(arena, struct sage_error);
        const struct error_code *code = error_code(err->code);

        *e = (struct sage_error){
                .code = code->name,
                .message = err->text,
                .effect = (enum sage_effect)(SAGE_EFFECT_NOT_APPLIED + err->effect),
                .where = *err->where ? err->where : NULL,
                .remedy = code->remedy,
        };
        if (err->line)
                e->has |= SAGE_ERROR_HAS_LINE, e->line = err->line;
        if (err->errnum > 0)
                e->has |= SAGE_ERROR_HAS_ERRNO, e->errno_ = err->errnum;
        return e;
}

static void put_usage(const struct ending *e, struct sage_result *ret) {
        const struct {
                enum cgroup_use use;
                uint64_t bit;
                uint64_t *at;
                bool around; /* where its own cgroup does not count it, what the container's has more than before */
        } rows[] = {
                { USE_CPU_US, SAGE_RESULT_HAS_CPU_TIME_US, &ret->cpu_time_us, false },
                { USE_USER_US, SAGE_RESULT_HAS_USER_TIME_US, &ret->user_time_us, false },
                { USE_SYSTEM_US, SAGE_RESULT_HAS_SYSTEM_TIME_US, &ret->system_time_us, false },
                { USE_THROTTLED_PERIODS, SAGE_RESULT_HAS_THROTTLED_PERIODS, &ret->throttled_periods, true },
                { USE_THROTTLED_US, SAGE_RESULT_HAS_THROTTLED_TIME_US, &ret->throttled_time_us, true },
                { USE_MEMORY_PEAK, SAGE_RESULT_HAS_MEMORY_PEAK_BYTES, &ret->memory_peak_bytes, false },
                { USE_PIDS_PEAK, SAGE_RESULT_HAS_PIDS_PEAK, &ret->pids_peak, false },
        };

        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                bool own = cgroup_usage_has(&e->own, rows[i].use);

                if (!own && (!rows[i].around || !cgroup_usage_has(&e->after, rows[i].use)))
                        continue;
                *rows[i].at = own ? e->own.of[rows[i].use] : since(e, rows[i].use);
                ret->has |= rows[i].bit;
        }
}

void outcome_record(struct arena *arena, const char *id, const struct ending *e, const struct error *err, struct sage_result *ret) {
        *ret = (struct sage_result){
                .id = id, .outcome = classify(e, err), .disk = (struct sage_disk *)e->disk, .limits = (struct sage_limits *)e->limits
        };
        if (err)
                ret->error = describe(arena, err);
        if (!e->launched)
                return;
        if (e->process.signal)
                ret->has |= SAGE_RESULT_HAS_SIGNAL, ret->signal = e->process.signal;
        else
                ret->has |= SAGE_RESULT_HAS_EXIT_CODE, ret->exit_code = e->process.exit_code;
        ret->has |= SAGE_RESULT_HAS_WALL_TIME_US, ret->wall_time_us = e->wall_us;
        if (e->output)
                ret->has |= SAGE_RESULT_HAS_OUTPUT_BYTES, ret->output_bytes = e->output->total;
        if (e->counted) {
                ret->has |= SAGE_RESULT_HAS_PROCESSES_KILLED | SAGE_RESULT_HAS_PROCESSES_LEFT;
                ret->processes_killed = e->killed;
                ret->processes_left = e->left;
        }
        put_usage(e, ret);
}

int outcome_status(const struct ending *e) {
        enum { TIMED_OUT = 124 }; /* as timeout(1) has it */

        if (e->reason == END_TIMEOUT)
                return TIMED_OUT;
        return e->reason == END_CANCELLED ? 128 + e->cancelled_by : process_end_status(e->process);
}
