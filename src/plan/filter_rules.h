/* From the rules of a profile to what happens for every system call number of an architecture. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "plan/filter_arch.h"
#include "plan/filter_clause.h"
#include "plan/filter_emit.h"
#include "spec/config.h"

struct filter_rule {
        const struct filter_clause *clause; /* NULL: always */
        uint32_t action;
};

/* The outcome for one number: ACTION, or with N rules the action of the first that matches and else ACTION. */
struct filter_verdict {
        uint32_t action;
        size_t n;
        const struct filter_rule *rules;
        filter_label label; /* its code, FILTER_NOWHERE until written */
        struct filter_verdict *next;
};

/* A run of numbers of one outcome, up to the next segment's FIRST. */
struct filter_segment {
        uint32_t first;
        struct filter_verdict *verdict;
};

struct filter_table {
        struct filter_segment *segments;
        size_t n;
};

/* SECCOMP_RET_* of ACTION with its errno. */
uint32_t filter_action(enum oci_seccomp_action action, uint32_t errnum);

/* The calls that RULES name, rule by rule and name by name; NULL stands for a name that no kernel knows. */
const struct syscall_row **filter_find_calls(struct arena *arena, const struct oci_seccomp *rules);

/* Builds the table of ARCHES, which share one audit architecture and stand in the order of their numbers. calls: filter_find_calls(). */
int filter_table_build(struct arena *arena, const struct oci_seccomp *rules, const struct syscall_row *const *calls,
        const struct filter_arch *const *arches, size_t n, struct filter_table *ret, struct error *err);
