/* Writes a classic BPF program from its end to its start.
 *
 * Jumps of classic BPF only lead forward and, when conditional, at most 255 instructions far. From the end backwards every target exists
 * when the jump to it is written, its distance is known, and a far one gets a stepping stone right behind the jump. */
#pragma once

#include <linux/bpf_common.h>
#include <linux/filter.h>
#include <stdbool.h>
#include <stdint.h>

/* Where an instruction stands: how many are behind it. */
typedef uint32_t filter_label;
#define FILTER_NOWHERE UINT32_MAX

/* An earlier return of some action, to be shared by later jumps. */
struct filter_return {
        uint32_t action;
        filter_label label;
};

struct filter_code {
        uint32_t count;
        bool full; /* more than BPF_MAXINSNS were needed; what was written since is worthless */
        unsigned n_returns;
        struct filter_return returns[16];
        struct sock_filter instructions[BPF_MAXINSNS]; /* the last COUNT are the program */
};

filter_label filter_emit(struct filter_code *code, uint16_t operation, uint32_t k);
/* A return of ACTION (SECCOMP_RET_*), shared with an earlier one that is near enough. */
filter_label filter_emit_return(struct filter_code *code, uint32_t action);
/* Compares the accumulator with K as OPERATION says (BPF_JEQ, BPF_JGE, BPF_JGT) and goes to one of two places. */
filter_label filter_emit_branch(struct filter_code *code, uint16_t operation, uint32_t k, filter_label yes, filter_label no);

static inline const struct sock_filter *filter_code_start(const struct filter_code *code) {
        return code->instructions + BPF_MAXINSNS - code->count;
}
