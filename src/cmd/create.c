#include "cmd/create_options.h"

#include "base/str.h"

static const struct option_row options[] = { CREATE_OPTION_ROWS };
extern const struct command command_create;

static int run(struct invocation *invocation, int argc, char **argv, int *ret_status, struct error *err) {
        _cleanup_launched_ struct launched launched = LAUNCHED_NOTHING;
        struct create_options o = { 0 };
        struct launch_request request;
        struct plan_plan *plan;
        char **operands;
        int r;

        if ((r = command_parse(invocation, &command_create, argc, argv, &o, 1, 1, &operands, NULL, err)) < 0 ||
                (r = create_plan(invocation, &o, operands[0], true, &plan, err)) < 0)
                return r;
        request = create_request(invocation, &o, plan);
        request.wait_for_start = true;
        *ret_status = 0;
        r = launch(invocation->arena, &request, &launched, err);
        if (r == 0)
                create_warn(plan);
        return r;
}

const struct command command_create = { "create", "ID", "make a container from a bundle; `start` lets its program go", run, options,
        ELEMENTSOF(options), 1, OPTIONS_ANYWHERE };
