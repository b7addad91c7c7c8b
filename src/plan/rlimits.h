#pragma once

#include "plan/compilation.h"

/* process.rlimits: duplicates and soft limits above the hard one are refused. field: "process". */
int rlimits_compile(struct arena *arena, const struct oci_process *process, const char *field, struct plan_process *ret, struct error *err);

/* "RLIMIT_NOFILE", or NULL for a number that is none of ours. */
const char *rlimit_name(uint32_t resource);
