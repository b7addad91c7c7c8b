#include "cmd/command.h"

#include "base/str.h"
#include "libocispec/spec.h"
#include "life/state.h"

extern const struct command command_state;

static int run(struct invocation *invocation, int argc, char **argv, int *ret_status, struct error *err) {
        _cleanup_container_ struct container container = CONTAINER_CLOSED;
        _cleanup_str_ struct str text = { 0 };
        struct oci_state state;
        enum oci_status status;
        char **operands;
        int r;

        if ((r = command_parse(invocation, &command_state, argc, argv, NULL, 1, 1, &operands, NULL, err)) < 0 ||
                (r = container_open(invocation->arena, invocation->root, operands[0], CONTAINER_UNLOCKED, &container, err)) < 0 ||
                (r = container_state(&container, &status, NULL, err)) < 0)
                return r;
        state = container_describe(invocation->arena, &container, status);
        if ((r = spec_encode(&oci_state_type, &state, &text, SPEC_PRETTY, err)) < 0)
                return r;
        str_putc(&text, '\n');
        *ret_status = 0;
        return command_print(&text, "the state", err);
}

const struct command command_state = { "state", "ID", "print the state of a container as JSON", run, NULL, 0, 1, OPTIONS_ANYWHERE };
