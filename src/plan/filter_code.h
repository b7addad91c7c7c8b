/* From what happens for every number to the instructions that decide it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "plan/filter.h"
#include "plan/filter_emit.h"
#include "plan/filter_rules.h"

/* Where the code for calls of one architecture begins. */
struct filter_start {
        uint32_t audit; /* AUDIT_ARCH_* */
        filter_label label;
};

/* Writes the search for a call's number in TABLE and what follows from it, and marks in TABLE's verdicts where their code is. */
filter_label filter_code_table(struct filter_code *code, const struct filter_table *table);

/* Writes the program's start: calls of STARTS' architectures go there, the first one's soonest, and any other ends the process. */
void filter_code_arches(struct filter_code *code, const struct filter_start *starts, size_t n);

/* The program, copied to ARENA. CODE is not full. */
void filter_code_take(struct arena *arena, const struct filter_code *code, struct filter_program *ret);
