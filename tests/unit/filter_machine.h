/* A classic BPF machine as seccomp(2) has it, for tests of filters. */
#pragma once

#include <linux/bpf_common.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What no program may do and no verdict looks like. */
#define FILTER_BROKEN UINT32_C(0xdeadbeef)

struct filter_run {
        uint32_t verdict;
        unsigned steps;
        bool read_arguments; /* else the kernel answers from its bitmap */
};

static inline struct filter_run filter_run(const struct sock_filter *program, size_t n, const struct seccomp_data *data) {
        struct filter_run run = { .verdict = FILTER_BROKEN };
        uint32_t a = 0;

        for (size_t pc = 0; pc < n;) {
                const struct sock_filter *i = &program[pc++];
                bool jump;

                run.steps++;
                switch (i->code) {
                case BPF_LD | BPF_W | BPF_ABS:
                        if (i->k % 4 || i->k >= sizeof *data)
                                return run;
                        memcpy(&a, (const char *)data + i->k, sizeof a);
                        if (i->k >= 16)
                                run.read_arguments = true;
                        continue;
                case BPF_ALU | BPF_AND | BPF_K:
                        a &= i->k;
                        continue;
                case BPF_JMP | BPF_JA:
                        pc += i->k;
                        continue;
                case BPF_JMP | BPF_JEQ | BPF_K:
                        jump = a == i->k;
                        break;
                case BPF_JMP | BPF_JGE | BPF_K:
                        jump = a >= i->k;
                        break;
                case BPF_JMP | BPF_JGT | BPF_K:
                        jump = a > i->k;
                        break;
                case BPF_JMP | BPF_JSET | BPF_K:
                        jump = a & i->k;
                        break;
                case BPF_RET | BPF_K:
                        run.verdict = i->k;
                        return run;
                default:
                        return run;
                }
                pc += jump ? i->jt : i->jf;
        }
        return run;
}

/* Does every path stay inside and end in a return? The kernel asks the same (bpf_check_classic in net/core/filter.c). */
static inline bool filter_is_sound(const struct sock_filter *program, size_t n) {
        if (n == 0 || n > BPF_MAXINSNS || program[n - 1].code != (BPF_RET | BPF_K))
                return false;
        for (size_t i = 0; i < n; i++) {
                uint16_t class = BPF_CLASS(program[i].code);

                if (class == BPF_JMP && BPF_OP(program[i].code) == BPF_JA && program[i].k >= n - i - 1)
                        return false;
                if (class == BPF_JMP && BPF_OP(program[i].code) != BPF_JA && (program[i].jt >= n - i - 1 || program[i].jf >= n - i - 1))
                        return false;
        }
        return true;
}
