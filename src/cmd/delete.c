#include "cmd/command.h"

#include <errno.h>

#include "base/log.h"
#include "base/str.h"
#include "cmd/matching.h"
#include "life/end.h"
#include "life/force.h"
#include "life/salvage.h"

struct delete_options {
        bool force, regex;
};

static const struct option_row options[] = {
        { "force", 'f', OPTION_FLAG, offsetof(struct delete_options, force), "kill what still runs; an unknown container is no error" },
        { "regex", 'r', OPTION_FLAG, offsetof(struct delete_options, regex), "ID is a regular expression for the ids of many" },
};
extern const struct command command_delete;

/* A created container may go without --force: every runtime allows it, and engines count on it. */
static bool may_go(enum oci_status status, bool force) {
        return force || status == OCI_STATUS_STOPPED || status == OCI_STATUS_CREATED;
}

static int delete_one(struct invocation *invocation, const char *id, const void *options, struct error *err) {
        _cleanup_container_ struct container container = CONTAINER_CLOSED;
        const struct delete_options *o = options;
        enum oci_status status;
        int r;

        r = o->force ? container_open_by_force(invocation->arena, invocation->root, id, &container, err)
                     : container_open(invocation->arena, invocation->root, id, CONTAINER_LOCKED, &container, err);
        if (r < 0 && o->force && err->code == CODE_STATE_CORRUPT) {
                log_message(LOG_LEVEL_WARNING, "%s; deleting what can be found", err->text);
                r = container_open_unread(invocation->root, id, CONTAINER_LOCKED, &container, err);
        }
        if (r < 0)
                return o->force && err->code == CODE_NOT_FOUND ? 0 : r;
        if (container.status.schema == 0 && o->force && (r = container_salvage(invocation->arena, &container, err)) < 0)
                return r;
        if ((r = container_state(&container, &status, NULL, err)) < 0)
                return r;
        if (!may_go(status, o->force))
                return fail(err, CODE_INVALID_STATE, EBUSY, "", "cannot delete container `%s` that is %s: stop it first, or use --force",
                        container.id, spec_enum_name(&oci_status_enum, status));
        return end(invocation->arena, &container, err);
}

static int run(struct invocation *invocation, int argc, char **argv, int *ret_status, struct error *err) {
        struct delete_options o = { 0 };
        char **operands;
        int r;

        if ((r = command_parse(invocation, &command_delete, argc, argv, &o, 1, 1, &operands, NULL, err)) < 0)
                return r;
        *ret_status = 0;
        return o.regex ? matching_containers(invocation, operands[0], delete_one, &o, err) : delete_one(invocation, operands[0], &o, err);
}

const struct command command_delete = { "delete", "ID", "give back everything a stopped container holds", run, options, ELEMENTSOF(options),
        1, OPTIONS_ANYWHERE };
