#pragma once

#include "plan/compilation.h"

/* More than any kernel has: NR_CPUS is at most 8,192 (arch/x86/Kconfig); runc draws its line here. */
enum { CPU_LIST_MAX = 65535 };

/* The "List format" of cpuset(7): numbers and ranges, separated by commas, such as "0-3,7". An empty TEXT or none is no range at all,
 * *RET is NULL then. A number above MAX, a range that runs backwards, and anything else are errors of FIELD. */
int cpu_list_parse(struct arena *arena, const char *text, uint32_t max, const char *field, struct plan_range **ret, size_t *ret_n,
                   struct error *err);
