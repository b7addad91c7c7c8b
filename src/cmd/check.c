#include "cmd/bundle.h"
#include "cmd/check_report.h"

#include <unistd.h>

#include "base/str.h"

struct check_options {
        struct bundle_options bundle;
        const char *facts;
        bool json;
};

static const struct option_row options[] = {
        { "bundle", 'b', OPTION_TEXT, offsetof(struct check_options, bundle.bundle),
                "check what this bundle demands (default: what a strict sandbox does)" },
        { "config", 'f', OPTION_TEXT, offsetof(struct check_options, bundle.config), "another file than config.json in the bundle" },
        { "facts", 0, OPTION_TEXT, offsetof(struct check_options, facts), "a recorded host in place of this one" },
        { "json", 0, OPTION_FLAG, offsetof(struct check_options, json), "one JSON document" },
};
extern const struct command command_check;

static int run(struct invocation *invocation, int argc, char **argv, int *ret_status, struct error *err) {
        struct host host = { .arena = invocation->arena };
        struct plan_plan *plan = NULL;
        struct check_options o = { 0 };
        char **operands;
        int r;

        if ((r = command_parse(invocation, &command_check, argc, argv, &o, 0, 0, &operands, NULL, err)) < 0 ||
                (o.facts && (r = facts_load(&host, o.facts, err)) < 0) ||
                ((o.bundle.bundle || o.bundle.config) && (r = bundle_plan(invocation, &o.bundle, NULL, &host, &plan, err)) < 0))
                return r;
        r = check_run(&host, plan, o.json, STDOUT_FILENO, err);
        if (r < 0)
                return r;
        *ret_status = r;
        return 0;
}

const struct command command_check = { "check", "", "tell what this host can enforce, and what to do about the rest", run, options,
        ELEMENTSOF(options), 1, OPTIONS_ANYWHERE };
