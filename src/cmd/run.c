#include "cmd/run_container.h"

#include "base/fd.h"
#include "base/str.h"
#include "life/cgroup_claim.h"
#include "life/end.h"
#include "life/soft.h"

static const struct option_row options[] = {
        CREATE_OPTION_ROWS,
        { "detach", 'd', OPTION_FLAG, offsetof(struct create_options, detach), "return once the program runs" },
        SUPERVISE_OPTION_ROWS(create_options),
        { "keep", 0, OPTION_FLAG, offsetof(struct create_options, keep), "do not delete the container when its program has ended" },
};
extern const struct command command_run;

/* Somebody else may have deleted it, and made another of its name, before we could. */
static int end_ours(struct arena *arena, struct container *container, struct error *err) {
        int r = container_lock(container, err);

        if (r < 0)
                return err->code == CODE_NOT_FOUND ? 0 : r;
        return end(arena, container, err);
}

static int stay(struct invocation *invocation, const struct create_options *o, struct supervisor *supervisor, struct launched *launched,
        const struct plan_plan *plan, int *ret_status, struct error *err) {
        const struct status_cgroup_claim *claim = launched->container.status.cgroup;
        _cleanup_close_ int cgroup = -1;
        struct supervised command = { .pidfd = launched->pidfd, .console = launched->console, .notify = &launched->notify };
        int r;

        if (supervisor->asked.any)
                (void)cgroup_claim_open(&launched->container, &cgroup);
        /* One that was there before the container may hold others' processes. */
        command.cgroup = claim && claim->ours ? cgroup : -1;
        command.around = claim && claim->ours ? -1 : cgroup;
        command.by_init = plan->sandbox;
        supervisor->foreground.ended = take_fd(&launched->ended);
        r = supervise_wait(supervisor, &command, ret_status, err);
        if (supervisor->ending.limits && soft_is_sampled(supervisor->ending.limits))
                soft_check(invocation->arena, &launched->container, plan, &supervisor->ending);
        if (o->keep)
                return r;
        if (r < 0) {
                struct error second;

                (void)end_ours(invocation->arena, &launched->container, &second);
                return r;
        }
        return end_ours(invocation->arena, &launched->container, err);
}

int run_container(struct invocation *invocation, const struct create_options *o, const char *id, struct supervisor *supervisor,
        int *ret_status, struct error *err) {
        _cleanup_launched_ struct launched launched = LAUNCHED_NOTHING;
        struct launch_request request;
        struct plan_plan *plan;
        int r;

        if ((r = create_plan(invocation, o, id, o->detach, &plan, err)) < 0)
                return r;
        if (o->planned)
                o->planned(plan);
        if (plan->sandbox)
                supervisor->ending.limits = plan->sandbox->limits;
        request = create_request(invocation, o, plan);
        if (plan->sage && !o->detach && (r = supervise_policy(plan, o->console_socket, &supervisor->asked, err)) < 0)
                return r;
        if (!o->detach &&
                (r = supervise_begin(supervisor, invocation->arena, plan->process->terminal, 3 + (int)request.preserve_fds, err)) < 0)
                return r;
        request.detach = o->detach;
        request.dies_with_us = plan->sandbox && !o->detach;
        request.interruption = &supervisor->foreground.interruption;
        request.guard = &supervisor->guard;
        request.output = supervisor->output;
        if ((r = launch(invocation->arena, &request, &launched, err)) < 0) {
                *ret_status = 128 + supervisor->foreground.interruption.signal;
                return r;
        }
        create_warn(plan);
        supervise_note_sandbox(supervisor, &launched.container, plan);
        *ret_status = 0;
        return o->detach ? 0 : stay(invocation, o, supervisor, &launched, plan, ret_status, err);
}

static int run(struct invocation *invocation, int argc, char **argv, int *ret_status, struct error *err) {
        _cleanup_supervisor_ struct supervisor supervisor = SUPERVISOR_NOT;
        struct create_options o = { 0 };
        char **operands;
        int r;

        if ((r = command_parse(invocation, &command_run, argc, argv, &o, 1, 1, &operands, NULL, err)) < 0 ||
                (r = supervise_options_read(&o.supervise, o.detach, o.console_socket, o.preserve_fds, &supervisor.asked, err)) < 0)
                return r;
        r = run_container(invocation, &o, operands[0], &supervisor, ret_status, err);
        return supervise_finish(&supervisor, invocation->arena, operands[0], r, ret_status, err);
}

const struct command command_run = { "run", "ID", "create, start and wait for a container, then delete it", run, options,
        ELEMENTSOF(options), 1, OPTIONS_ANYWHERE };
