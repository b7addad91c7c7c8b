#pragma once

#include "plan/compilation.h"

/* process.scheduler and process.ioPriority. What the kernel would refuse whoever asks is an error, what it would ignore a warning.
 * field: "process". */
int scheduler_compile(struct arena *arena, const struct oci_process *process, const char *field, struct plan_process *ret,
                      struct warnings *warnings, struct error *err);

/* What the first process does between the two moments may not be possible under its policy. After process_compile()'s other parts. */
int scheduler_check_hooks(struct compilation *c);

/* "SCHED_FIFO" and so on, or NULL. */
const char *scheduler_policy_name(uint32_t policy);
/* "SCHED_FLAG_RECLAIM" for one bit, or NULL. */
const char *scheduler_flag_name(uint64_t flag);
