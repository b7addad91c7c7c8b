#include "plan/filter.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "plan/filter_arch.h"
#include "plan/filter_build.h"
#include "plan/filter_code.h"
#include "plan/filter_rules.h"

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (UINT64_C(1) << 5) /* Linux 5.19 */
#endif

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
        struct filter_start starts[ELEMENTSOF(arches)];
        size_t n = select_arches(rules, machine, arches, ELEMENTSOF(arches)), first = ELEMENTSOF(starts);
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
                starts[--first] = (struct filter_start){ arches[begin]->audit, filter_code_table(&code, &table) };
        }
        filter_code_arches(&code, &starts[first], ELEMENTSOF(starts) - first);
        if (code.full)
                return fail(err, CODE_CONFIG_INVALID, E2BIG, "linux.seccomp.syscalls", "needs a program of more than %d instructions",
                        BPF_MAXINSNS);

        filter_code_take(arena, &code, ret);
        return 0;
}

int filter_build(struct arena *arena, const struct oci_seccomp *rules, struct filter_program *ret, struct error *err) {
        return filter_build_for(arena, rules, FILTER_THIS_MACHINE, ret, err);
}
