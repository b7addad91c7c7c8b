#include "plan/filter_verdict.h"

#include <linux/audit.h>
#include <linux/bpf_common.h>
#include <linux/seccomp.h>
#include <string.h>

#if defined(__x86_64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

static bool jumps(const struct sock_filter *i, uint32_t a) {
        switch (BPF_OP(i->code)) {
        case BPF_JEQ:
                return a == i->k;
        case BPF_JGT:
                return a > i->k;
        case BPF_JGE:
                return a >= i->k;
        default:
                return a & i->k; /* BPF_JSET */
        }
}

/* The instructions that filter_emit.c knows (Documentation/networking/filter.rst). PC only grows, as the kernel demands too. */
static uint32_t run(const struct filter_program *program, const struct seccomp_data *data) {
        uint32_t a = 0;

        for (size_t pc = 0; pc < program->count;) {
                const struct sock_filter *i = &program->instructions[pc++];

                switch (i->code) {
                case BPF_LD | BPF_W | BPF_ABS:
                        if (i->k % sizeof a || i->k >= sizeof *data)
                                return SECCOMP_RET_KILL_PROCESS;
                        memcpy(&a, (const char *)data + i->k, sizeof a);
                        break;
                case BPF_ALU | BPF_AND | BPF_K:
                        a &= i->k;
                        break;
                case BPF_JMP | BPF_JA:
                        pc += i->k;
                        break;
                case BPF_JMP | BPF_JEQ | BPF_K:
                case BPF_JMP | BPF_JGT | BPF_K:
                case BPF_JMP | BPF_JGE | BPF_K:
                case BPF_JMP | BPF_JSET | BPF_K:
                        pc += jumps(i, a) ? i->jt : i->jf;
                        break;
                case BPF_RET | BPF_K:
                        return i->k;
                default:
                        return SECCOMP_RET_KILL_PROCESS;
                }
        }
        return SECCOMP_RET_KILL_PROCESS;
}

bool filter_allows(const struct filter_program *program, int number, uint64_t first) {
        const struct seccomp_data data = { .nr = number, .arch = OWN_ARCHITECTURE, .args = { first } };
        uint32_t verdict = run(program, &data) & SECCOMP_RET_ACTION_FULL;

        return verdict == SECCOMP_RET_ALLOW || verdict == SECCOMP_RET_LOG;
}
