/* What a rule of a profile says of a call's arguments, and in which order clauses of one call are asked. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "spec/config.h"

/* (argument & mask) OP value. Both are cut to the low half on a 32-bit architecture; VALUE has no bit outside MASK. */
struct filter_condition {
        uint8_t argument;
        enum oci_seccomp_operator op;
        uint64_t mask, value;
};

/* What must hold for a rule to match, by rising argument. */
struct filter_clause {
        bool narrow;
        uint8_t n;
        struct filter_condition conditions[6];
};

/* The clauses of RULE, any of which makes it match: one, or one a condition. */
struct filter_clause *filter_clauses(struct arena *arena, const struct oci_seccomp_rule *rule, bool narrow, size_t *ret_n);

/* CLAUSE for a call through a multiplexer, which selects it by its first argument. What CLAUSE says of the call's own first argument is
 * lost: that one lies in memory, where no filter can look. */
const struct filter_clause *filter_clause_multiplexed(struct arena *arena, const struct filter_clause *clause, uint32_t call);

/* How many conditions A and B begin with alike. */
uint8_t filter_clause_common(const struct filter_clause *a, const struct filter_clause *b);

/* Is B to be asked before A, which stands before it in the profile? Decided by the first condition in which they differ, as libseccomp
 * walks it: high halves first, low ones only where the high ones are compared alike. common: filter_clause_common(). */
bool filter_clause_goes_before(const struct filter_clause *a, const struct filter_clause *b, uint8_t common);
