/* From a bundle's directory to a plan: reads config.json, asks the host what the plan needs to know, compiles. */
#pragma once

#include "cmd/command.h"
#include "facts/facts.h"
#include "plan/compile.h"
#include "plan/sage.h"

struct bundle_options {
        const char *bundle; /* directory; NULL is the current one */
        const char *config; /* --config; NULL is config.json in it */
        bool no_pivot, no_new_keyring;
};

/* Touches nothing. id may be NULL. HOST may be recorded (plan --facts); what it lacks is probed otherwise. */
int bundle_plan(struct invocation *invocation, const struct bundle_options *options, const char *id, struct host *host, struct plan_plan **ret,
                struct error *err);

/* What its sage.* annotations and the policies over them ask for, and nothing else of it. Touches nothing. */
int bundle_request(struct invocation *invocation, const struct bundle_options *options, struct sage_asked *ret, struct error *err);

/* Decodes the JSON file PATH ("-" is stdin) as TYPE. */
int bundle_decode(struct invocation *invocation, const char *path, const struct spec_type *type, void *ret, struct error *err);
