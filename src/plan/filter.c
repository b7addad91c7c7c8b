#include "plan/filter.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "plan/filter_arch.h"
#include "plan/filter_build.h"
#include "plan/filter_emit.h"
#include "plan/filter_rules.h"

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (UINT64_C(1) << 5) /* Linux 5.19 */
#endif

#if defined(__x86_64__)
#define THIS_MACHINE FILTER_X86_64
#elif defined(__aarch64__)
#define THIS_MACHINE FILTER_AARCH64
#else
#error "x86_64 and aarch64 only"
#endif
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the low half of an argument comes first");

/* ---- checks ------------------------------------------------------------------------------------------------------------- */

static bool takes_errno(enum oci_seccomp_action action) {
        return action == OCI_SECCOMP_ACTION_SCMP_ACT_ERRNO || action == OCI_SECCOMP_ACTION_SCMP_ACT_TRACE;
}

/* With the filter in force the launching process still has to report the listener's descriptor, before anybody can answer it. */
static bool is_needed_for_the_hand_over(const char *name) {
        return streq(name, "write") || streq(name, "sendmsg");
}

static int check_rule(const struct oci_seccomp *rules, size_t i, struct error *err) {
        const struct oci_seccomp_rule *rule = &rules->syscalls[i];
        char where[96];

        if (rule->has & OCI_SECCOMP_RULE_HAS_ERRNO_RET && !takes_errno(rule->action)) {
                snprintf(where, sizeof where, "linux.seccomp.syscalls[%zu].errnoRet", i);
                return fail(err, CODE_CONFIG_INVALID, EINVAL, where, "only SCMP_ACT_ERRNO and SCMP_ACT_TRACE take an errno");
        }
        for (size_t j = 0; j < rule->n_args; j++)
                if (rule->args[j].index > 5) {
                        snprintf(where, sizeof where, "linux.seccomp.syscalls[%zu].args[%zu].index", i, j);
                        return fail(
                                err, CODE_CONFIG_INVALID, EINVAL, where, "a system call has arguments 0 to 5, not %u", rule->args[j].index);
                }
        if (rule->action != OCI_SECCOMP_ACTION_SCMP_ACT_NOTIFY)
                return 0;
        for (size_t j = 0; j < rule->n_names; j++)
                if (is_needed_for_the_hand_over(rule->names[j])) {
                        snprintf(where, sizeof where, "linux.seccomp.syscalls[%zu].names[%zu]", i, j);
                        return fail(err, CODE_CONFIG_INVALID, EINVAL, where,
                                "SCMP_ACT_NOTIFY cannot be used for %s: the listener is handed over with it", rule->names[j]);
                }
        return 0;
}

static int check(const struct oci_seccomp *rules, struct error *err) {
        if (rules->default_action == OCI_SECCOMP_ACTION_SCMP_ACT_NOTIFY)
                return fail(
                        err, CODE_CONFIG_INVALID, EINVAL, "linux.seccomp.defaultAction", "SCMP_ACT_NOTIFY cannot be the default action");
        if (rules->has & OCI_SECCOMP_HAS_DEFAULT_ERRNO_RET && !takes_errno(rules->default_action))
                return fail(err, CODE_CONFIG_INVALID, EINVAL, "linux.seccomp.defaultErrnoRet",
                        "only SCMP_ACT_ERRNO and SCMP_ACT_TRACE take an errno");
        if (rules->listener_metadata && !rules->listener_path)
                return fail(err, CODE_CONFIG_INVALID, EINVAL, "linux.seccomp.listenerMetadata", "needs a listenerPath");
        if (filter_notifies(rules) && !rules->listener_path)
                return fail(err, CODE_CONFIG_INVALID, EINVAL, "linux.seccomp.listenerPath", "SCMP_ACT_NOTIFY needs one");
        for (size_t i = 0; i < rules->n_syscalls; i++) {
                int r = check_rule(rules, i, err);

                if (r < 0)
                        return r;
        }
        return 0;
}

bool filter_notifies(const struct oci_seccomp *rules) {
        for (size_t i = 0; i < rules->n_syscalls; i++)
                if (rules->syscalls[i].action == OCI_SECCOMP_ACTION_SCMP_ACT_NOTIFY)
                        return true;
        return false;
}

int filter_flags(const struct oci_seccomp *rules, uint64_t *ret, struct error *err) {
        static const uint64_t bits[] = {
                [OCI_SECCOMP_FLAG_SECCOMP_FILTER_FLAG_TSYNC] = SECCOMP_FILTER_FLAG_TSYNC,
                [OCI_SECCOMP_FLAG_SECCOMP_FILTER_FLAG_LOG] = SECCOMP_FILTER_FLAG_LOG,
                [OCI_SECCOMP_FLAG_SECCOMP_FILTER_FLAG_SPEC_ALLOW] = SECCOMP_FILTER_FLAG_SPEC_ALLOW,
                [OCI_SECCOMP_FLAG_SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV] = SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV,
        };
        uint64_t flags = rules->flags ? 0 : SECCOMP_FILTER_FLAG_SPEC_ALLOW;

        for (size_t i = 0; i < rules->n_flags; i++) {
                char where[64];

                if ((size_t)rules->flags[i] >= ELEMENTSOF(bits) || !bits[rules->flags[i]]) {
                        snprintf(where, sizeof where, "linux.seccomp.flags[%zu]", i);
                        return fail(err, CODE_CONFIG_INVALID, EINVAL, where, "an unknown flag");
                }
                flags |= bits[rules->flags[i]];
        }
        if (filter_notifies(rules))
                flags = (flags & ~(uint64_t)SECCOMP_FILTER_FLAG_TSYNC) | SECCOMP_FILTER_FLAG_NEW_LISTENER;
        else
                flags &= ~(uint64_t)SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
        *ret = flags;
        return 0;
}

/* ---- code --------------------------------------------------------------------------------------------------------------- */

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

/* ---- architectures ------------------------------------------------------------------------------------------------------ */

static bool listed(const struct oci_seccomp *rules, enum oci_seccomp_arch arch) {
        for (size_t i = 0; i < rules->n_architectures; i++)
                if (rules->architectures[i] == arch)
                        return true;
        return false;
}

/* The architectures of the program, the machine's own first. */
static size_t select_arches(const struct oci_seccomp *rules, enum filter_machine machine, const struct filter_arch **ret, size_t max) {
        size_t n_rows, n = 0;
        const struct filter_arch *rows = filter_arches(machine, &n_rows);

        for (size_t i = 0; i < n_rows && n < max; i++)
                if (i == 0 || listed(rules, rows[i].name))
                        ret[n++] = &rows[i];
        return n;
}

int filter_build_for(
        struct arena *arena, const struct oci_seccomp *rules, enum filter_machine machine, struct filter_program *ret, struct error *err) {
        const struct filter_arch *arches[4];
        const struct syscall_row **calls;
        filter_label starts[ELEMENTSOF(arches)], next;
        size_t n = select_arches(rules, machine, arches, ELEMENTSOF(arches));
        struct filter_code code;
        int r;

        code.count = code.n_returns = 0;
        code.full = false;
        r = check(rules, err);
        if (r < 0)
                return r;
        calls = filter_find_calls(arena, rules);

        /* From the last to the first, so that the machine's own comes nearest to the start. */
        for (size_t end = n, begin; end > 0; end = begin) {
                _cleanup_arena_ struct arena scratch = { 0 }; /* given back for the next one and whatever comes then */
                struct filter_table table;

                for (begin = end - 1; begin > 0 && arches[begin - 1]->audit == arches[end - 1]->audit;)
                        begin--;
                r = filter_table_build(&scratch, rules, calls, &arches[begin], end - begin, &table, err);
                if (r < 0)
                        return r;
                for (size_t i = begin; i < end; i++)
                        starts[i] = FILTER_NOWHERE;
                starts[begin] = emit_search(&code, table.segments, 0, table.n - 1);
                if (table.n > 1)
                        starts[begin] = filter_emit(&code, LOAD, offsetof(struct seccomp_data, nr));
        }
        next = filter_emit_return(&code, SECCOMP_RET_KILL_PROCESS);
        for (size_t i = n; i-- > 0;)
                if (starts[i] != FILTER_NOWHERE)
                        next = filter_emit_branch(&code, BPF_JEQ, arches[i]->audit, starts[i], next);
        filter_emit(&code, LOAD, offsetof(struct seccomp_data, arch));
        if (code.full)
                return fail(err, CODE_CONFIG_INVALID, E2BIG, "linux.seccomp.syscalls", "needs a program of more than %d instructions",
                        BPF_MAXINSNS);

        ret->count = (uint16_t)code.count;
        ret->instructions = arena_array(arena, struct sock_filter, code.count);
        memcpy(ret->instructions, filter_code_start(&code), code.count * sizeof *ret->instructions);
        return 0;
}

int filter_build(struct arena *arena, const struct oci_seccomp *rules, struct filter_program *ret, struct error *err) {
        return filter_build_for(arena, rules, THIS_MACHINE, ret, err);
}
