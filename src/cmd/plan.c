#include "cmd/bundle.h"

#include "base/str.h"
#include "cmd/plan_view.h"
#include "libocispec/spec.h"

struct plan_options {
        struct bundle_options bundle;
        const char *facts;
        bool json, request;
};

static const struct option_row options[] = {
        { "bundle", 'b', OPTION_TEXT, offsetof(struct plan_options, bundle.bundle), "the bundle's directory (default: the current one)" },
        { "config", 'f', OPTION_TEXT, offsetof(struct plan_options, bundle.config), "another file than config.json in the bundle" },
        { "facts", 0, OPTION_TEXT, offsetof(struct plan_options, facts), "a recorded host in place of this one" },
        { "json", 0, OPTION_FLAG, offsetof(struct plan_options, json), "the whole plan as JSON" },
        { "request", 0, OPTION_FLAG, offsetof(struct plan_options, request), "only what sage.* annotations and policies ask for, as JSON" },
};
extern const struct command command_plan;

/* The request stands there as it was hashed. */
static int print_request(struct invocation *invocation, const struct bundle_options *bundle, struct error *err) {
        _cleanup_str_ struct str text = { 0 };
        struct sage_asked asked;
        int r = bundle_request(invocation, bundle, &asked, err);

        if (r < 0)
                return r;
        if (asked.request)
                str_printf(&text, "{\"fingerprint\":\"%s\",\"request\":%s}\n", asked.fingerprint, asked.canonical);
        else
                str_puts(&text, "{\"fingerprint\":null,\"request\":null}\n");
        return command_print(&text, "the request", err);
}

static int run(struct invocation *invocation, int argc, char **argv, int *ret_status, struct error *err) {
        struct host host = { .arena = invocation->arena };
        _cleanup_str_ struct str text = { 0 };
        struct plan_options o = { 0 };
        struct plan_plan *plan;
        char **operands;
        int r;

        *ret_status = 0;
        if ((r = command_parse(invocation, &command_plan, argc, argv, &o, 0, 0, &operands, NULL, err)) < 0)
                return r;
        if (o.request)
                return print_request(invocation, &o.bundle, err);
        if ((o.facts && (r = facts_load(&host, o.facts, err)) < 0) || (r = bundle_plan(invocation, &o.bundle, NULL, &host, &plan, err)) < 0)
                return r;
        if (o.json && (r = spec_encode(&plan_plan_type, plan, &text, SPEC_PRETTY, err)) < 0)
                return r;
        if (o.json)
                str_putc(&text, '\n');
        else
                plan_view(plan, &text);
        return command_print(&text, "the plan", err);
}

const struct command command_plan = { "plan", "", "print what would be done for a bundle; touches nothing", run, options,
        ELEMENTSOF(options), 1, OPTIONS_ANYWHERE };
