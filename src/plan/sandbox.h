/* The strict sandbox (sage.sandbox.profile): a bundle that says little more than its process becomes one whose every part is given. What
 * the sandbox has for itself (identity, namespaces, file system, devices, capabilities) is decided here and nowhere in the bundle; what the
 * bundle says of it all the same is refused by its field where it differs. plan->sandbox is there for such a sandbox alone.
 *
 * All of this lies in the part of the program that a launch without annotations does not touch (src/rare.ld). */
#pragma once

#include "facts/facts.h"
#include "plan/compilation.h"
#include "plan/sage.h"

/* What facts_look() has to look at before compile(), where ASKED (its request may be NULL) is a strict sandbox; else *RET_N is 0.
 * caller: facts->identity. The lists live in ARENA. */
void sandbox_looks(struct arena *arena, const struct oci_config *config, const struct sage_asked *asked,
        const struct facts_identity *caller, struct facts_look **ret, size_t *ret_n, uint32_t *ret_uid, uint32_t *ret_gid);

/* A part of compile(), before those that look at config.json: makes plan->sandbox where the request asks for a strict sandbox, and else
 * nothing. Errors: CODE_CONFIG_INVALID with the field that disagrees. */
int sandbox_compile(struct compilation *c);

/* A part of compile() in place of mounts_compile(): all mounts of the sandbox. CODE_WORKSPACE_INVALID, CODE_CONFIG_INVALID. */
int sandbox_mounts(struct compilation *c);

/* Of compile_process_within(): P, a command of the sandbox PLAN, gets what all have (no_new_privs, and Sage's limits on open files, core files and
 * the size of one file) and is refused what none has. FIELD: "process". */
int sandbox_process(struct arena *arena, const struct plan_plan *plan, const char *field, struct plan_process *p, struct error *err);

/* The last part of compile() for a bundle with plan->sage: a rule that is read and not enforced would be worse than none, so what this
 * program cannot enforce yet is CODE_CAPABILITY_UNSUPPORTED. The table in sandbox_unbuilt.c is the one list of it. */
int sandbox_refuse_unbuilt(struct compilation *c);
