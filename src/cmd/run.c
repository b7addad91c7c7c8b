#include "cmd/create_options.h"

#include "base/str.h"
#include "life/end.h"
#include "life/wait.h"

static const struct option_row options[] = {
        CREATE_OPTION_ROWS,
        { "detach", 'd', OPTION_FLAG, offsetof(struct create_options, detach), "return once the program runs" },
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

static int stay(struct invocation *invocation, const struct create_options *o, struct foreground *foreground, struct launched *launched,
        int *ret_status, struct error *err) {
        int r = foreground_wait(foreground, launched->pidfd, launched->console, &launched->notify, ret_status, err);

        if (o->keep)
                return r;
        if (r < 0) {
                struct error second;

                (void)end_ours(invocation->arena, &launched->container, &second);
                return r;
        }
        return end_ours(invocation->arena, &launched->container, err);
}

static int run(struct invocation *invocation, int argc, char **argv, int *ret_status, struct error *err) {
        _cleanup_foreground_ struct foreground foreground = FOREGROUND_NOT;
        _cleanup_launched_ struct launched launched = LAUNCHED_NOTHING;
        struct create_options o = { 0 };
        struct launch_request request;
        struct plan_plan *plan;
        char **operands;
        int r;

        if ((r = command_parse(invocation, &command_run, argc, argv, &o, 1, 1, &operands, NULL, err)) < 0 ||
                (r = create_plan(invocation, &o, operands[0], o.detach, &plan, err)) < 0 ||
                (!o.detach && (r = foreground_begin(&foreground, err)) < 0))
                return r;
        request = create_request(invocation, &o, plan);
        request.detach = o.detach;
        request.interruption = &foreground.interruption;
        if ((r = launch(invocation->arena, &request, &launched, err)) < 0) {
                *ret_status = 128 + foreground.interruption.signal;
                return r;
        }
        create_warn(plan);
        *ret_status = 0;
        return o.detach ? 0 : stay(invocation, &o, &foreground, &launched, ret_status, err);
}

const struct command command_run = { "run", "ID", "create, start and wait for a container, then delete it", run, options,
        ELEMENTSOF(options), 1, OPTIONS_ANYWHERE };
