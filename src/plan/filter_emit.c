#include "plan/filter_emit.h"

#include "base/str.h"

static struct sock_filter *at(struct filter_code *code, filter_label label) {
        return &code->instructions[BPF_MAXINSNS - 1 - label];
}

filter_label filter_emit(struct filter_code *code, uint16_t operation, uint32_t k) {
        if (code->count == BPF_MAXINSNS) {
                /* Starting over keeps every label a valid index; the caller looks at FULL in the end. */
                code->full = true;
                code->count = 0;
                code->n_returns = 0;
        }
        *at(code, code->count) = (struct sock_filter){ .code = operation, .k = k };
        return code->count++;
}

/* How many instructions lie between the next one to be written and LABEL. */
static uint32_t distance(const struct filter_code *code, filter_label label) {
        return code->count - label - 1;
}

static void remember_return(struct filter_code *code, uint32_t action, filter_label label) {
        for (unsigned i = 0; i < code->n_returns; i++)
                if (code->returns[i].action == action) {
                        code->returns[i].label = label;
                        return;
                }
        if (code->n_returns < ELEMENTSOF(code->returns))
                code->returns[code->n_returns++] = (struct filter_return){ action, label };
}

filter_label filter_emit_return(struct filter_code *code, uint32_t action) {
        filter_label label;

        for (unsigned i = 0; i < code->n_returns; i++)
                if (code->returns[i].action == action && distance(code, code->returns[i].label) < UINT8_MAX)
                        return code->returns[i].label;
        label = filter_emit(code, BPF_RET | BPF_K, action);
        remember_return(code, action, label);
        return label;
}

/* A nearer place that leads to LABEL: a copy of it when it is a return, which costs no second step, else a jump. */
static filter_label stepping_stone(struct filter_code *code, filter_label label) {
        const struct sock_filter target = *at(code, label);

        if (target.code == (BPF_RET | BPF_K)) {
                label = filter_emit(code, target.code, target.k);
                remember_return(code, target.k, label);
                return label;
        }
        return filter_emit(code, BPF_JMP | BPF_JA, distance(code, label));
}

filter_label filter_emit_branch(struct filter_code *code, uint16_t operation, uint32_t k, filter_label yes, filter_label no) {
        filter_label label;

        if (distance(code, yes) >= UINT8_MAX) /* one less than a jump can reach: a stone for NO may come between */
                yes = stepping_stone(code, yes);
        if (distance(code, no) > UINT8_MAX)
                no = stepping_stone(code, no);
        label = filter_emit(code, BPF_JMP | operation | BPF_K, k);
        if (!code->full) {
                at(code, label)->jt = (uint8_t)(label - yes - 1);
                at(code, label)->jf = (uint8_t)(label - no - 1);
        }
        return label;
}
