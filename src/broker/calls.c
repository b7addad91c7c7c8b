#define _GNU_SOURCE
#include "broker/calls.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define NATIVE AUDIT_ARCH_X86_64
#define X32 0x40000000u /* __X32_SYSCALL_BIT: other calls under the same architecture */
#elif defined(__aarch64__)
#define NATIVE AUDIT_ARCH_AARCH64
#else
#error "this architecture's name in linux/audit.h is missing here"
#endif

#define LOAD(offset) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)(offset))
#define RETURN(action) BPF_STMT(BPF_RET | BPF_K, (action))
#define IF_EQUAL(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), (yes), (no))
#define IF_GREATER_EQUAL(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, (value), (yes), (no))

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the low half of an argument is its first one only here"
#endif
#define ARGUMENT(n) (offsetof(struct seccomp_data, args) + 8 * (n))

enum { INSTRUCTIONS_MAX = 1024, ROWS_MAX = 192, LEAF = 4 };

struct program {
        struct sock_filter code[INSTRUCTIONS_MAX];
        unsigned short n;
        const struct call *rows[ROWS_MAX];
        uint32_t otherwise;
};

static void add(struct program *p, struct sock_filter instruction) {
        if (p->n < INSTRUCTIONS_MAX)
                p->code[p->n++] = instruction;
}

/* Every row is left with the call's number in the accumulator, or not at all. */
static void add_row(struct program *p, const struct call *row) {
        uint8_t size = (uint8_t)(row->n_conditions * 3 + 1 + (row->n_conditions ? 1 : 0));

        add(p, (struct sock_filter)IF_EQUAL((uint32_t)row->number, 0, size));
        for (uint8_t i = 0; i < row->n_conditions; i++) {
                const struct call_condition *c = &row->conditions[i];
                uint8_t behind = (uint8_t)((row->n_conditions - i - 1) * 3 + 1);

                add(p, (struct sock_filter)LOAD(ARGUMENT(c->argument)));
                add(p, (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, c->mask));
                add(p, (struct sock_filter)IF_EQUAL(c->value, 0, behind));
        }
        add(p, (struct sock_filter)RETURN(SECCOMP_RET_ALLOW));
        if (row->n_conditions)
                add(p, (struct sock_filter)LOAD(offsetof(struct seccomp_data, nr)));
}

/* The rows from FIRST to before END as a search tree: when a filter is loaded the kernel runs it once for every call there is, to remember
 * those that it always allows (kernel/seccomp.c, seccomp_cache_prepare), and a list of them all takes it longer than all else we start with. */
static void add_tree(struct program *p, size_t first, size_t end) {
        size_t middle = first + (end - first) / 2;
        unsigned short jump;

        /* Alternatives of one call stay together. */
        while (middle < end && middle > first && p->rows[middle]->number == p->rows[middle - 1]->number)
                middle++;
        if (end - first <= LEAF || middle == end) {
                for (size_t i = first; i < end; i++)
                        add_row(p, p->rows[i]);
                add(p, (struct sock_filter)RETURN(p->otherwise));
                return;
        }
        add(p, (struct sock_filter)IF_GREATER_EQUAL((uint32_t)p->rows[middle]->number, 0, 1));
        jump = p->n;
        add(p, (struct sock_filter)BPF_STMT(BPF_JMP | BPF_JA, 0));
        add_tree(p, first, middle);
        if (jump < INSTRUCTIONS_MAX)
                p->code[jump].k = (uint32_t)(p->n - jump - 1);
        add_tree(p, middle, end);
}

static int by_number(const void *a, const void *b) {
        const struct call *const *x = a, *const *y = b;

        return (*x)->number - (*y)->number;
}

static void build(struct program *p, const struct call *rows, size_t n) {
        for (size_t i = 0; i < n; i++)
                p->rows[i] = &rows[i];
        qsort(p->rows, n, sizeof *p->rows, by_number);
        add(p, (struct sock_filter)LOAD(offsetof(struct seccomp_data, arch)));
        add(p, (struct sock_filter)IF_EQUAL(NATIVE, 1, 0));
        add(p, (struct sock_filter)RETURN(SECCOMP_RET_KILL_PROCESS));
        add(p, (struct sock_filter)LOAD(offsetof(struct seccomp_data, nr)));
#ifdef X32
        add(p, (struct sock_filter)IF_GREATER_EQUAL(X32, 0, 1));
        add(p, (struct sock_filter)RETURN(SECCOMP_RET_KILL_PROCESS));
#endif
        add_tree(p, 0, n);
}

int calls_allow_only(const struct call *rows, size_t n, uint32_t otherwise, struct error *err) {
        struct program p = { .otherwise = otherwise };
        struct sock_fprog program;

        if (n > ROWS_MAX)
                return fail(err, CODE_INTERNAL, 0, "seccomp", "a table of more than %d rows", ROWS_MAX);
        build(&p, rows, n);
        if (p.n == INSTRUCTIONS_MAX)
                return fail(err, CODE_INTERNAL, 0, "seccomp", "a filter of more than %d instructions", INSTRUCTIONS_MAX);
        program = (struct sock_fprog){ .len = p.n, .filter = p.code };
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0)
                return fail_errno(err, CODE_CAPABILITY_UNSUPPORTED, errno, "seccomp", "cannot load the filter of the broker's own calls");
        return 0;
}

#if CALLS_SANITIZED
/* sanitizer/common_interface_defs.h, which not every compiler brings along. */
void __sanitizer_symbolize_pc(void *pc, const char *format, char *ret, size_t size);

void calls_prepare_reports(void) {
        char text[256];

        __sanitizer_symbolize_pc(__builtin_return_address(0), "%f", text, sizeof text);
}
#else
void calls_prepare_reports(void) {
}
#endif
