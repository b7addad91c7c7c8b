/* What sage.sandbox.process says of each command, the bundle's own process and every exec: which program, which variables, how long and how
 * loud. Only members that somebody said count; in a strict sandbox the defaults are said. Pure. Lies in the part of the program that a launch without annotations does not touch (src/rare.ld). */
#pragma once

#include "plan/compilation.h"

/* A part of compile(), for plan->sage->process: the bundle's process gets command_path as its PATH, and must be a program that is allowed.
 * CODE_PERMISSION_DENIED. */
int command_policy_compile(struct compilation *c);

/* The same for PROCESS, which exec was asked for in the container of PLAN, whose plan->sage->process there is. Its environment may set what
 * allowed_env_names has, and else only say what the bundle's process says. */
int command_policy_exec(struct arena *arena, const struct plan_plan *plan, struct plan_process *process, struct error *err);

/* The limits in the units of the supervisor. 0: none. */
uint64_t command_policy_time_us(const struct sage_process *policy);
uint64_t command_policy_output(const struct sage_process *policy);

/* A command whose output goes past the runtime, to an engine: CODE_CAPABILITY_UNSUPPORTED where the policy limits it to something else than
 * the default, which is a limit of what the runtime passes on. */
int command_policy_uncounted(const struct plan_plan *plan, struct error *err);

/* A command of exec that nobody stays with: CODE_CAPABILITY_UNSUPPORTED where somebody has to. */
int command_policy_detached(const struct sage_process *policy, struct error *err);

/* The bundle's process, with nobody to stay with it: the same, and its time. */
int command_policy_unattended(const struct plan_plan *plan, struct error *err);
