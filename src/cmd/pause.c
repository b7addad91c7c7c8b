/* pause and resume: the same with the opposite sign. */
#include "cmd/command.h"

#include <errno.h>

#include "apply/cgroup_freeze.h"
#include "base/str.h"
#include "life/state.h"

extern const struct command command_pause, command_resume;

/* FROM: what the container has to be. A created one is not paused: its start would wait for a process that stands still. */
static int set_frozen(
        struct invocation *invocation, const struct command *command, int argc, char **argv, enum oci_status from, struct error *err) {
        _cleanup_container_ struct container container = CONTAINER_CLOSED;
        enum oci_status status;
        char **operands;
        int r;

        if ((r = command_parse(invocation, command, argc, argv, NULL, 1, 1, &operands, NULL, err)) < 0 ||
                (r = container_open(invocation->arena, invocation->root, operands[0], CONTAINER_LOCKED, &container, err)) < 0 ||
                (r = container_state(&container, &status, NULL, err)) < 0)
                return r;
        if (status != from)
                return fail(err, CODE_INVALID_STATE, EINVAL, "", "container not %s: cannot %s a container that is %s",
                        spec_enum_name(&oci_status_enum, from), command->name, spec_enum_name(&oci_status_enum, status));
        if (!container.status.cgroup)
                return fail(err, CODE_CAPABILITY_UNSUPPORTED, EOPNOTSUPP, "", "the container has no cgroup, which is what can be frozen");
        return cgroup_freeze(container.status.cgroup->path, from == OCI_STATUS_RUNNING, err);
}

static int run_pause(struct invocation *invocation, int argc, char **argv, int *ret_status, struct error *err) {
        *ret_status = 0;
        return set_frozen(invocation, &command_pause, argc, argv, OCI_STATUS_RUNNING, err);
}

static int run_resume(struct invocation *invocation, int argc, char **argv, int *ret_status, struct error *err) {
        *ret_status = 0;
        return set_frozen(invocation, &command_resume, argc, argv, OCI_STATUS_PAUSED, err);
}

const struct command command_pause = { "pause", "ID", "stop every process of a container", run_pause, NULL, 0, 1, OPTIONS_ANYWHERE };
const struct command command_resume = { "resume", "ID", "let a paused container go on", run_resume, NULL, 0, 1, OPTIONS_ANYWHERE };
