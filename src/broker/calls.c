#define _GNU_SOURCE
#include "broker/calls.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
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

enum { ROWS_MAX = 192, LEAF = 4 };

struct program {
        struct sock_filter *code;               /* room for CALLS_INSTRUCTIONS_MAX */
        unsigned n, allows[ROWS_MAX], n_allows; /* allows: comparisons that are to jump to the leaf's permission */
        const struct call *rows[ROWS_MAX];
        uint32_t otherwise;
        bool too_long;
};

static void add(struct program *p, struct sock_filter instruction) {
        if (p->n < CALLS_INSTRUCTIONS_MAX)
                p->code[p->n++] = instruction;
        else
                p->too_long = true;
}

/* Where the comparison at AT leads when it says HOLDS: to what comes next, over 255 instructions at most. */
static void lead_here(struct program *p, unsigned at, bool holds) {
        unsigned distance = p->n - at - 1;

        if (p->too_long || distance > UINT8_MAX)
                p->too_long = true; /* so AT may not be there */
        else if (holds)
                p->code[at].jt = (uint8_t)distance;
        else
                p->code[at].jf = (uint8_t)distance;
}

static void allow_if_equal(struct program *p, uint32_t value) {
        p->allows[p->n_allows++] = p->n;
        add(p, (struct sock_filter)IF_EQUAL(value, 0, 0));
}

static bool same_source(const struct call_condition *a, const struct call_condition *b) {
        return a && a->argument == b->argument && a->mask == b->mask;
}

static void load(struct program *p, const struct call_condition *c) {
        add(p, (struct sock_filter)LOAD(ARGUMENT(c->argument)));
        if (c->mask != ~UINT32_C(0))
                add(p, (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, c->mask));
}

/* The N alternatives of one call, of whose conditions the first DEPTH hold. Whichever fits allows; else what comes behind is next. */
static void add_alternatives(struct program *p, const struct call *const *rows, size_t n, unsigned depth) {
        const struct call_condition *held = NULL;

        for (size_t i = 0, end; i < n; i = end) {
                const struct call_condition *c = &rows[i]->conditions[depth];
                unsigned at;

                end = i + 1;
                if (!same_source(held, c))
                        load(p, c);
                held = c;
                if (rows[i]->n_conditions == depth + 1) {
                        allow_if_equal(p, c->value);
                        continue;
                }
                while (end < n && rows[end]->n_conditions > depth + 1 && same_source(c, &rows[end]->conditions[depth]) &&
                        c->value == rows[end]->conditions[depth].value)
                        end++;
                at = p->n;
                add(p, (struct sock_filter)IF_EQUAL(c->value, 0, 0));
                add_alternatives(p, rows + i, end - i, depth + 1);
                lead_here(p, at, false);
                held = NULL;
        }
}

/* The N rows of one call, with its number in the accumulator. */
static void add_call(struct program *p, const struct call *const *rows, size_t n) {
        unsigned at = p->n;

        for (size_t i = 0; i < n; i++)
                if (rows[i]->n_conditions == 0) {
                        allow_if_equal(p, (uint32_t)rows[i]->number);
                        return;
                }
        add(p, (struct sock_filter)IF_EQUAL((uint32_t)rows[0]->number, 0, 0));
        add_alternatives(p, rows, n, 0);
        add(p, (struct sock_filter)RETURN(p->otherwise));
        lead_here(p, at, false);
}

static void add_leaf(struct program *p, size_t first, size_t end) {
        size_t n;

        p->n_allows = 0;
        for (; first < end; first += n) {
                for (n = 1; first + n < end && p->rows[first + n]->number == p->rows[first]->number; n++)
                        ;
                add_call(p, p->rows + first, n);
        }
        add(p, (struct sock_filter)RETURN(p->otherwise));
        for (unsigned i = 0; i < p->n_allows; i++)
                lead_here(p, p->allows[i], true);
        add(p, (struct sock_filter)RETURN(SECCOMP_RET_ALLOW));
}

/* The rows from FIRST to before END as a search tree, as short as can be: when a filter is loaded the kernel translates it, and runs it once for
 * every call there is, to remember those that it always allows (kernel/seccomp.c, seccomp_cache_prepare; it knows no instructions but these).
 * Neither takes longer than all else we start with only if there is little to translate and little to run. */
static void add_tree(struct program *p, size_t first, size_t end) {
        size_t middle = first + (end - first) / 2;
        unsigned at = p->n;

        /* Alternatives of one call stay together. */
        while (middle < end && middle > first && p->rows[middle]->number == p->rows[middle - 1]->number)
                middle++;
        if (end - first <= LEAF || middle == end) {
                add_leaf(p, first, end);
                return;
        }
        add(p, (struct sock_filter)IF_GREATER_EQUAL((uint32_t)p->rows[middle]->number, 0, 0));
        add_tree(p, first, middle);
        lead_here(p, at, true);
        add_tree(p, middle, end);
}

/* By number, and in the order of the table. */
static int in_order(const void *a, const void *b) {
        const struct call *const *x = a, *const *y = b;

        return (*x)->number != (*y)->number ? (*x)->number - (*y)->number : (*x > *y) - (*x < *y);
}

int calls_program(const struct call *rows, size_t n, uint32_t otherwise, struct sock_filter *ret, size_t *ret_n, struct error *err) {
        struct program p = { .code = ret, .otherwise = otherwise };

        if (n == 0 || n > ROWS_MAX)
                return fail(err, CODE_INTERNAL, 0, "seccomp", "a table of no rows, or of more than %d", ROWS_MAX);
        for (size_t i = 0; i < n; i++)
                p.rows[i] = &rows[i];
        qsort(p.rows, n, sizeof *p.rows, in_order);
        add(&p, (struct sock_filter)LOAD(offsetof(struct seccomp_data, arch)));
        add(&p, (struct sock_filter)IF_EQUAL(NATIVE, 1, 0));
        add(&p, (struct sock_filter)RETURN(SECCOMP_RET_KILL_PROCESS));
        add(&p, (struct sock_filter)LOAD(offsetof(struct seccomp_data, nr)));
#ifdef X32
        add(&p, (struct sock_filter)IF_GREATER_EQUAL(X32, 0, 1));
        add(&p, (struct sock_filter)RETURN(SECCOMP_RET_KILL_PROCESS));
#endif
        add_tree(&p, 0, n);
        if (p.too_long)
                return fail(err, CODE_INTERNAL, 0, "seccomp", "a table of which the filter gets too long");
        *ret_n = p.n;
        return 0;
}

int calls_allow_only(const struct call *rows, size_t n, uint32_t otherwise, struct error *err) {
        struct sock_filter code[CALLS_INSTRUCTIONS_MAX];
        struct sock_fprog program = { .filter = code };
        size_t length = 0;
        int r = calls_program(rows, n, otherwise, code, &length, err);

        if (r < 0)
                return r;
        program.len = (unsigned short)length;
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0)
                return fail_errno(err, CODE_CAPABILITY_UNSUPPORTED, errno, "seccomp", "cannot load the filter of the broker's own calls");
        return 0;
}

#if CALLS_SANITIZED
/* sanitizer/common_interface_defs.h, which not every compiler brings along. */
void __sanitizer_symbolize_pc(void *pc, const char *format, char *ret, size_t size);

/* sanitizer/asan_interface.h. Looking for leaks takes another process, which none of these programs may make; ASAN_OPTIONS still decides. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) {
        return "detect_leaks=0";
}

void calls_prepare_reports(void) {
        char text[256];

        __sanitizer_symbolize_pc(__builtin_return_address(0), "%f", text, sizeof text);
}
#else
void calls_prepare_reports(void) {}
#endif
