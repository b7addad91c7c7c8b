#define _GNU_SOURCE
#include "cmd/egress.h"

#include <errno.h>

#include "base/str.h"
#include "life/state.h"

struct egress_options {
        const char *policy, *audit;
        bool follow, json;
};

static const struct option_row options[] = {
        { "audit", 0, OPTION_TEXT, offsetof(struct egress_options, audit), "the audit of a broker that stands alone, in place of ID" },
        { "follow", 'f', OPTION_FLAG, offsetof(struct egress_options, follow), "go on with every line that is added" },
        { "json", 0, OPTION_FLAG, offsetof(struct egress_options, json), "print the audit's lines as they are, and the summary as JSON" },
        { "policy", 0, OPTION_TEXT, offsetof(struct egress_options, policy), "explain: sage.sandbox.network as JSON: a file, or fd:N" },
};
extern const struct command command_egress;

static int explain(
        struct invocation *invocation, const struct egress_options *o, char **operands, int n, int *ret_status, struct error *err) {
        if (n != 2)
                return fail(err, CODE_USAGE, EINVAL, "", "usage: sage-runtime egress explain --policy FILE HOST[:PORT]");
        if (o->audit || o->follow || o->json)
                return fail(err, CODE_USAGE, EINVAL, o->audit ? "--audit" : o->follow ? "--follow" : "--json", "`explain` reads no audit");
        return egress_explain(invocation, o->policy, operands[1], ret_status, err);
}

/* A container whose network goes through a broker would have an audit among its state. */
static int audit_of_container(struct invocation *invocation, const char *id, struct error *err) {
        _cleanup_container_ struct container container = CONTAINER_CLOSED;
        int r = container_open(invocation->arena, invocation->root, id, CONTAINER_UNLOCKED, &container, err);

        return r < 0 ? r : fail(err, CODE_INVALID_STATE, ENOENT, "", "the container has no egress broker, and so no audit");
}

static int run(struct invocation *invocation, int argc, char **argv, int *ret_status, struct error *err) {
        struct egress_options o = { 0 };
        char **operands;
        int n, r = command_parse(invocation, &command_egress, argc, argv, &o, 0, 2, &operands, &n, err);

        if (r < 0)
                return r;
        if (n > 0 && streq(operands[0], "explain") && !(n == 1 && !o.policy))
                return explain(invocation, &o, operands, n, ret_status, err);
        if (o.policy)
                return fail(err, CODE_USAGE, EINVAL, "--policy", "only `explain` takes a policy");
        if (n != (o.audit ? 0 : 1))
                return fail(err, CODE_USAGE, EINVAL, "", "expected either a container's ID or --audit FILE");
        return o.audit ? egress_audit(o.audit, o.follow, o.json, err) : audit_of_container(invocation, operands[0], err);
}

const struct command command_egress = {
        "egress",
        "ID | --audit FILE | explain HOST[:PORT]",
        "list what went out and what was refused, and what in the policy would change that; or explain what a policy decides about a "
        "destination (0: some way there is allowed, 1: none)",
        run,
        options,
        ELEMENTSOF(options),
        1,
        OPTIONS_ANYWHERE,
};
