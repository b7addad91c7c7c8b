/* The strict sandbox (sage.sandbox.profile): a bundle that says little more than its process becomes one whose every part is given. What
 * the sandbox has for itself (identity, namespaces, file system, devices, capabilities) is decided here and nowhere in the bundle; what the
 * bundle says of it all the same is refused by its field where it differs. plan->sandbox is there for such a sandbox alone.
 *
 * All of this lies in the part of the program that a launch without annotations does not touch (src/rare.ld). */
#pragma once

#include "plan/compilation.h"

/* A part of compile(), before those that look at config.json: makes plan->sandbox where the request asks for a strict sandbox, and else
 * nothing. Errors: CODE_CONFIG_INVALID with the field that disagrees. */
int sandbox_compile(struct compilation *c);

/* The last part of compile() for a bundle with plan->sage: a rule that is read and not enforced would be worse than none, so what this
 * program cannot enforce yet is CODE_CAPABILITY_UNSUPPORTED. The table in sandbox_unbuilt.c is the one list of it. */
int sandbox_refuse_unbuilt(struct compilation *c);
