/* What is asked and what the host is, made into a plan: the one description of everything that will be done for a container
 * (schemas/plan.json). Pure functions: they look at nothing but their arguments and change nothing, so a plan can be made for any
 * host on any machine.
 *
 * Every member of config.json (runtime-spec 1.3.0, the Linux part) ends up in the plan, or is refused by the name of its field:
 * CODE_CONFIG_INVALID (-EINVAL; for sage.* annotations also the codes that plan/sage.h names) where the request makes no sense,
 * CODE_CAPABILITY_UNSUPPORTED (-EOPNOTSUPP) where it does and this runtime cannot do it. What merely has no effect is a warning in the plan.
 * Whether the host can do what the plan says is admit()'s question. */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"
#include "spec/config.h"
#include "spec/facts.h"
#include "spec/plan.h"

/* plan.schema: raised when a plan kept by an older runtime would be misread. */
#define PLAN_SCHEMA 1u

struct request {
        const char *id;                       /* NULL: "<id>" stands for it, as in `plan --bundle B` */
        const char *bundle;                   /* absolute */
        const struct oci_config *config;
        enum plan_cgroup_manager manager;
        bool no_pivot, no_new_keyring;
        const struct sage_sources *sage;      /* the policies over sage.* annotations (plan/sage.h); NULL: none */
        const struct sage_asked *asked;       /* what sage_compile() made of both already; NULL: compile() calls it */
};

/* FACTS_* bits (facts/facts.h) of what compile() reads for this request. */
unsigned compile_needs(const struct request *request);

/* The user namespace that CONFIG wants to join, which facts_join() looks at for facts->joined; NULL: none. */
const char *compile_joined_userns(const struct oci_config *config);

/* The plan lives in ARENA and points into REQUEST and its config, which must live as long. */
int compile(struct arena *arena, const struct request *request, const struct facts_facts *facts, struct plan_plan **ret, struct error *err);

/* One process, as create and `exec --process` need it. field: how messages call it, "process". What depends on the container around
 * it is not looked at: compile_process_within() does that. */
int compile_process(struct arena *arena, const struct oci_process *process, const char *field, const struct facts_facts *facts,
                    struct plan_process **ret, struct error *err);

/* Fits a compiled process into the container that PLAN describes: its ids must be mapped there, supplementary groups must be possible,
 * and capabilities that nobody can grant are taken out, each with a warning. compile() has done it for plan->process. */
int compile_process_within(struct arena *arena, const struct plan_plan *plan, const char *field, const struct facts_facts *facts,
                           struct plan_process *process, struct error *err);

/* Sets writes, controllers, accounting, device rules and checkMemory of CGROUP. RESOURCES may be NULL. field: "linux.resources".
 * Warnings go where cgroup_resources() of cgroup_resources.h says; here they are dropped. */
int compile_resources(struct arena *arena, const struct oci_linux_resources *resources, const char *field, struct plan_cgroup *cgroup,
                      struct error *err);
