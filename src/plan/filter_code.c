#include "plan/filter_code.h"

#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the low half of an argument comes first");

#define LOAD (BPF_LD | BPF_W | BPF_ABS)

/* Loads half an argument, masks it if need be and compares. */
static filter_label compare_half(struct filter_code *code, unsigned argument, bool high, uint16_t operation, uint32_t mask, uint32_t value,
        filter_label yes, filter_label no) {
        filter_emit_branch(code, operation, value, yes, no);
        if (mask != UINT32_MAX)
                filter_emit(code, BPF_ALU | BPF_AND | BPF_K, mask);
        return filter_emit(code, LOAD, (uint32_t)(offsetof(struct seccomp_data, args) + 8 * argument + (high ? 4 : 0)));
}

/* (argument & mask) == value, the high half first. A half that the mask leaves out is not looked at. */
static filter_label equal(struct filter_code *code, const struct filter_condition *c, filter_label yes, filter_label no) {
        uint32_t low = (uint32_t)c->mask, high = (uint32_t)(c->mask >> 32);
        filter_label label = yes;

        if (low)
                label = compare_half(code, c->argument, false, BPF_JEQ, low, (uint32_t)c->value, label, no);
        if (high)
                label = compare_half(code, c->argument, true, BPF_JEQ, high, (uint32_t)(c->value >> 32), label, no);
        return label;
}

/* argument > value (BPF_JGT) or argument >= value (BPF_JGE): the high halves decide, unless they are equal. */
static filter_label greater(
        struct filter_code *code, const struct filter_condition *c, uint16_t operation, filter_label yes, filter_label no) {
        uint32_t high = (uint32_t)(c->value >> 32);
        filter_label low = compare_half(code, c->argument, false, operation, UINT32_MAX, (uint32_t)c->value, yes, no);

        if (c->mask == UINT32_MAX)
                return low;
        if (high) /* when it is not above 0 it is 0 */
                low = filter_emit_branch(code, BPF_JEQ, high, low, no);
        return compare_half(code, c->argument, true, BPF_JGT, UINT32_MAX, high, yes, low);
}

static filter_label emit_condition(struct filter_code *code, const struct filter_condition *c, filter_label yes, filter_label no) {
        switch (c->op) {
        case OCI_SECCOMP_OPERATOR_SCMP_CMP_NE:
                return equal(code, c, no, yes);
        case OCI_SECCOMP_OPERATOR_SCMP_CMP_GT:
                return greater(code, c, BPF_JGT, yes, no);
        case OCI_SECCOMP_OPERATOR_SCMP_CMP_GE:
                return greater(code, c, BPF_JGE, yes, no);
        case OCI_SECCOMP_OPERATOR_SCMP_CMP_LE:
                return greater(code, c, BPF_JGT, no, yes);
        case OCI_SECCOMP_OPERATOR_SCMP_CMP_LT:
                return greater(code, c, BPF_JGE, no, yes);
        default:
                return equal(code, c, yes, no);
        }
}

static filter_label emit_verdict(struct filter_code *code, struct filter_verdict *verdict) {
        filter_label next = FILTER_NOWHERE;

        if (verdict->n == 0)
                return filter_emit_return(code, verdict->action);
        if (verdict->label != FILTER_NOWHERE)
                return verdict->label;
        next = filter_emit_return(code, verdict->action);
        for (size_t i = verdict->n; i-- > 0;) {
                const struct filter_rule *rule = &verdict->rules[i];
                filter_label label = filter_emit_return(code, rule->action);

                for (uint8_t j = rule->clause->n; j-- > 0;)
                        label = emit_condition(code, &rule->clause->conditions[j], label, next);
                next = label;
        }
        verdict->label = next;
        return next;
}

/* A binary search over segments FIRST to LAST. The accumulator holds the number all the way, so that the kernel sees that the outcome of
 * most calls depends on nothing else and answers them from its bitmap (kernel/seccomp.c, seccomp_cache_prepare). */
static filter_label emit_search(struct filter_code *code, const struct filter_segment *segments, size_t first, size_t last) {
        size_t middle = first + (last - first + 1) / 2;
        filter_label below, above;

        if (first == last)
                return emit_verdict(code, segments[first].verdict);
        if (last - first == 2 && segments[first].verdict == segments[last].verdict && segments[last].first - segments[middle].first == 1) {
                above = emit_verdict(code, segments[middle].verdict);
                below = emit_verdict(code, segments[first].verdict);
                return filter_emit_branch(code, BPF_JEQ, segments[middle].first, above, below);
        }
        above = emit_search(code, segments, middle, last);
        below = emit_search(code, segments, first, middle - 1);
        return filter_emit_branch(code, BPF_JGE, segments[middle].first, above, below);
}

filter_label filter_code_table(struct filter_code *code, const struct filter_table *table) {
        filter_label start = emit_search(code, table->segments, 0, table->n - 1);

        return table->n > 1 ? filter_emit(code, LOAD, offsetof(struct seccomp_data, nr)) : start;
}

void filter_code_arches(struct filter_code *code, const struct filter_start *starts, size_t n) {
        filter_label next = filter_emit_return(code, SECCOMP_RET_KILL_PROCESS);

        for (size_t i = n; i-- > 0;)
                next = filter_emit_branch(code, BPF_JEQ, starts[i].audit, starts[i].label, next);
        filter_emit(code, LOAD, offsetof(struct seccomp_data, arch));
}

void filter_code_take(struct arena *arena, const struct filter_code *code, struct filter_program *ret) {
        ret->count = (uint16_t)code->count;
        ret->instructions = arena_array(arena, struct sock_filter, code->count);
        memcpy(ret->instructions, filter_code_start(code), code->count * sizeof *ret->instructions);
}
