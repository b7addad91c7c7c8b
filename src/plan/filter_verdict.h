/* What a filter would say to one system call, found out without making it. */
#pragma once

#include "plan/filter.h"

/* Does PROGRAM let pass call NUMBER of this machine's own architecture with FIRST as its first argument and 0 as the others? False for one
 * that does not end, or uses an instruction that no filter of ours has. */
bool filter_allows(const struct filter_program *program, int number, uint64_t first);
