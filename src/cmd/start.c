#include "cmd/command.h"

#include <errno.h>

#include "base/str.h"
#include "life/activation.h"
#include "life/start.h"

extern const struct command command_start;

static int run(struct invocation *invocation, int argc, char **argv, int *ret_status, struct error *err) {
        _cleanup_container_ struct container container = CONTAINER_CLOSED;
        enum oci_status status;
        char **operands;
        int r;

        if ((r = command_parse(invocation, &command_start, argc, argv, NULL, 1, 1, &operands, NULL, err)) < 0 ||
                (r = container_open(invocation->arena, invocation->root, operands[0], CONTAINER_LOCKED, &container, err)) < 0 ||
                (r = container_state(&container, &status, NULL, err)) < 0)
                return r;
        if (status == OCI_STATUS_RUNNING || status == OCI_STATUS_PAUSED)
                return fail(err, CODE_INVALID_STATE, EBUSY, "", "cannot start an already running container");
        if (status != OCI_STATUS_CREATED)
                return fail(err, CODE_INVALID_STATE, EINVAL, "", "cannot start a container that is %s",
                        spec_enum_name(&oci_status_enum, status));
        *ret_status = 0;
        return container_start(invocation->arena, &container, activation_read().notify, err);
}

const struct command command_start = { "start", "ID", "let the program of a created container go", run, NULL, 0, 1, OPTIONS_ANYWHERE };
