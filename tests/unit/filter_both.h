/* Our program and libseccomp's for one profile, run for the same calls. */
#pragma once

#include "unit.h"

#include <errno.h>
#include <linux/audit.h>
#include <seccomp.h>
#include <sys/mman.h>

#include "base/str.h"
#include "filter_machine.h"
#include "filter_profile.h"
#include "plan/filter_build.h"

/* libseccomp 2.5 loses a few nodes when rules shadow each other. LeakSanitizer asks for this by name. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) {
        return "leak:libseccomp.so\n";
}

struct both {
        struct arena arena;
        const struct oci_seccomp *rules;
        enum filter_machine machine;
        struct filter_program ours;
        struct sock_filter theirs[65536];
        size_t n_theirs;
};

static const struct { enum oci_seccomp_arch name; uint32_t token, audit; enum filter_machine machine; } arches[] = {
        { ARCH(X86_64), SCMP_ARCH_X86_64, AUDIT_ARCH_X86_64, FILTER_X86_64 },
        { ARCH(X32), SCMP_ARCH_X32, AUDIT_ARCH_X86_64, FILTER_X86_64 },
        { ARCH(X86), SCMP_ARCH_X86, AUDIT_ARCH_I386, FILTER_X86_64 },
        { ARCH(AARCH64), SCMP_ARCH_AARCH64, AUDIT_ARCH_AARCH64, FILTER_AARCH64 },
        { ARCH(ARM), SCMP_ARCH_ARM, AUDIT_ARCH_ARM, FILTER_AARCH64 },
};

static inline uint32_t native(enum filter_machine machine) {
        return machine == FILTER_X86_64 ? SCMP_ARCH_X86_64 : SCMP_ARCH_AARCH64;
}

static inline bool in_profile(const struct both *both, unsigned arch) {
        if (arches[arch].machine != both->machine)
                return false;
        for (size_t i = 0; i < both->rules->n_architectures; i++)
                if (both->rules->architectures[i] == arches[arch].name)
                        return true;
        return arches[arch].token == native(both->machine);
}

/* ---- libseccomp, used as runc and crun use it ----------------------------------------------------------------------------- */

static inline uint32_t their_action(enum oci_seccomp_action action, uint32_t errnum) {
        switch (action) {
        case ACT(KILL_PROCESS): return SCMP_ACT_KILL_PROCESS;
        case ACT(TRAP): return SCMP_ACT_TRAP;
        case ACT(ERRNO): return SCMP_ACT_ERRNO(errnum);
        case ACT(TRACE): return SCMP_ACT_TRACE(errnum);
        case ACT(ALLOW): return SCMP_ACT_ALLOW;
        case ACT(LOG): return SCMP_ACT_LOG;
        case ACT(NOTIFY): return SCMP_ACT_NOTIFY;
        default: return SCMP_ACT_KILL_THREAD;
        }
}

static inline enum scmp_compare their_operator(enum oci_seccomp_operator op) {
        static const enum scmp_compare map[] = {
                [CMP(NE)] = SCMP_CMP_NE, [CMP(LT)] = SCMP_CMP_LT, [CMP(LE)] = SCMP_CMP_LE, [CMP(EQ)] = SCMP_CMP_EQ,
                [CMP(GE)] = SCMP_CMP_GE, [CMP(GT)] = SCMP_CMP_GT, [CMP(MASKED_EQ)] = SCMP_CMP_MASKED_EQ,
        };
        return map[op];
}

static inline int add_their_rule(scmp_filter_ctx ctx, const struct oci_seccomp_rule *rule, const char *name, uint32_t action) {
        struct scmp_arg_cmp args[16];
        int number = seccomp_syscall_resolve_name(name), r = 0;
        unsigned seen = 0;
        bool twice = false;

        if (number == __NR_SCMP_ERROR)
                return 0;
        for (size_t i = 0; i < rule->n_args; i++) {
                twice |= seen >> rule->args[i].index & 1;
                seen |= 1u << rule->args[i].index;
                args[i] = (struct scmp_arg_cmp){ rule->args[i].index, their_operator(rule->args[i].op), rule->args[i].value,
                                                 rule->args[i].value_two };
        }
        if (!twice)
                return seccomp_rule_add_array(ctx, action, number, (unsigned)rule->n_args, args);
        for (size_t i = 0; i < rule->n_args && r >= 0; i++)
                r = seccomp_rule_add_array(ctx, action, number, 1, &args[i]);
        return r;
}

static inline int build_theirs(struct both *both) {
        const struct oci_seccomp *rules = both->rules;
        uint32_t otherwise = their_action(rules->default_action, rules->has ? rules->default_errno_ret : EPERM);
        scmp_filter_ctx ctx = seccomp_init(otherwise);
        int fd = memfd_create("filter", MFD_CLOEXEC), r = 0;
        ssize_t n;

        assert_non_null(ctx);
        assert_int_equal(seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS), 0);
        /* As runc does for all but short profiles; without it libseccomp 2.5 with x32 may compare numbers it has not loaded. */
        assert_int_equal(seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2), 0);
        for (unsigned i = 0; i < ELEMENTSOF(arches); i++)
                if (in_profile(both, i) && arches[i].token != seccomp_arch_native())
                        assert_int_equal(seccomp_arch_add(ctx, arches[i].token), 0);
        if (native(both->machine) != seccomp_arch_native())
                assert_int_equal(seccomp_arch_remove(ctx, seccomp_arch_native()), 0);
        for (size_t i = 0; i < rules->n_syscalls && r >= 0; i++) {
                const struct oci_seccomp_rule *rule = &rules->syscalls[i];
                uint32_t action = their_action(rule->action, rule->has ? rule->errno_ret : EPERM);

                for (size_t j = 0; j < rule->n_names && r >= 0; j++)
                        if (action != otherwise)
                                r = add_their_rule(ctx, rule, rule->names[j], action);
        }
        if (r >= 0)
                r = seccomp_export_bpf(ctx, fd);
        seccomp_release(ctx);
        lseek(fd, 0, SEEK_SET);
        n = read(fd, both->theirs, sizeof both->theirs);
        both->n_theirs = n > 0 ? (size_t)n / sizeof *both->theirs : 0;
        close(fd);
        return r;
}

/* ---- the ENOSYS rule, told once more ------------------------------------------------------------------------------------- */

/* The largest number that the profile names on arch ARCH of the table, 0 for none. */
static inline uint32_t largest(const struct both *both, unsigned arch) {
        uint32_t max = 0;

        for (size_t i = 0; i < both->rules->n_syscalls; i++)
                for (size_t j = 0; j < both->rules->syscalls[i].n_names; j++) {
                        int number = seccomp_syscall_resolve_name_arch(arches[arch].token, both->rules->syscalls[i].names[j]);

                        if (number > 0 && (uint32_t)number > max)
                                max = (uint32_t)number;
                }
        return max;
}

struct limits { uint32_t of[ELEMENTSOF(arches)]; };

static inline struct limits limits(const struct both *both) {
        struct limits l = { 0 };
        enum oci_seccomp_action d = both->rules->default_action;

        for (unsigned i = 0; i < ELEMENTSOF(arches); i++)
                if (in_profile(both, i) && d != ACT(ALLOW) && d != ACT(LOG) && d != ACT(TRACE))
                        l.of[i] = largest(both, i);
        return l;
}

static inline uint32_t expect(const struct both *both, const struct limits *l, const struct seccomp_data *data) {
        uint32_t number = (uint32_t)data->nr;
        bool with_x32 = in_profile(both, 1);

        for (unsigned i = 0; i < ELEMENTSOF(arches); i++) {
                if (l->of[i] == 0 || arches[i].audit != data->arch)
                        continue;
                if (arches[i].audit == AUDIT_ARCH_X86_64 && (i == 1) != (number >> 30 & 1))
                        continue;
                if (arches[i].audit == AUDIT_ARCH_X86_64 && !with_x32 && number >= FILTER_X32_BIT)
                        continue; /* ours ends the process, as libseccomp does; runc says ENOSYS to numbers above 2^31 */
                if (number > l->of[i])
                        return SECCOMP_RET_ERRNO | ENOSYS;
        }
        return filter_run(both->theirs, both->n_theirs, data).verdict;
}

/* ---- comparison ---------------------------------------------------------------------------------------------------------- */

static uint64_t seed = 88172645463325252u;

static inline uint64_t rnd(void) { /* xorshift64 */
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        return seed;
}

/* A value near one that some rule compares with, or a border. */
static inline uint64_t interesting(const struct oci_seccomp *rules) {
        static const uint64_t borders[] = { 0, 1, 2, 5, 0x7fffffff, 0x80000000, 0xffffffff, 0x100000000, 0x100000001, UINT64_MAX,
                1ull << 63 };
        const struct oci_seccomp_rule *rule;
        uint64_t value;

        if (rules->n_syscalls == 0 || rnd() % 4 == 0)
                return borders[rnd() % ELEMENTSOF(borders)];
        rule = &rules->syscalls[rnd() % rules->n_syscalls];
        if (rule->n_args == 0)
                return rnd() % 3 ? borders[rnd() % ELEMENTSOF(borders)] : rnd();
        value = rnd() % 2 ? rule->args[rnd() % rule->n_args].value : rule->args[rnd() % rule->n_args].value_two;
        switch (rnd() % 6) {
        case 0: return value + 1;
        case 1: return value - 1;
        case 2: return value ^ 1ull << 32;
        case 3: return value | rnd();
        default: return value;
        }
}

/* Compares both for NUMBER with SAMPLES sets of arguments on every architecture; returns how often they differ. */
static inline unsigned compare(const struct both *both, const struct limits *l, uint32_t number, unsigned samples, bool tell) {
        static const uint32_t audits[] = { AUDIT_ARCH_X86_64, AUDIT_ARCH_I386, AUDIT_ARCH_AARCH64, AUDIT_ARCH_ARM, AUDIT_ARCH_S390X, 0 };
        unsigned differ = 0;

        for (unsigned s = 0; s < samples; s++)
                for (unsigned i = 0; i < ELEMENTSOF(audits); i++) {
                        struct seccomp_data data = { .nr = (int)number, .arch = audits[i], .instruction_pointer = rnd() };
                        uint32_t want, got;

                        for (unsigned k = 0; k < 6; k++)
                                data.args[k] = interesting(both->rules);
                        want = expect(both, l, &data);
                        got = filter_run(both->ours.instructions, both->ours.count, &data).verdict;
                        if (got == want)
                                continue;
                        differ++;
                        if (tell)
                                print_message("# arch %08x nr %d args %llx %llx %llx: libseccomp %08x, ours %08x\n", data.arch, data.nr,
                                              data.args[0], data.args[1], data.args[2], want, got);
                }
        return differ;
}

static inline struct both *build(const struct oci_seccomp *rules, enum filter_machine machine) {
        static struct both both;
        struct error err;

        both.rules = rules;
        both.machine = machine;
        if (filter_build_for(&both.arena, rules, machine, &both.ours, &err) < 0)
                FAIL("%s: %s", err.where, err.text);
        assert_true(filter_is_sound(both.ours.instructions, both.ours.count));
        return &both;
}

static inline void compare_all(const struct oci_seccomp *rules, enum filter_machine machine) {
        struct both *both = build(rules, machine);
        struct limits l = limits(both);
        static const uint32_t odd[] = { 0x3fffffff, 0x40000000, 0x7fffffff, 0x80000000, 0xbfffffff, 0xc0000000, 0xfffffffe, 0xffffffff,
                                        0xf0000, 0xf0001, 0xf0002, 0xf0005, 0xf0006, 1000, 5000, 65536 };
        unsigned differ = 0;

        assert_int_equal(build_theirs(both), 0);
        for (uint32_t number = 0; number <= 600; number++) {
                differ += compare(both, &l, number, 24, differ < 10);
                differ += compare(both, &l, number | FILTER_X32_BIT, 24, differ < 10);
        }
        for (unsigned i = 0; i < ELEMENTSOF(odd); i++)
                differ += compare(both, &l, odd[i], 8, differ < 10);
        assert_int_equal(differ, 0);
        arena_free(&both->arena);
}

static enum oci_seccomp_arch x86_arches[] = { ARCH(X86_64), ARCH(X86), ARCH(X32) };
static enum oci_seccomp_arch arm_arches[] = { ARCH(AARCH64), ARCH(ARM) };

static inline void set_arches(struct oci_seccomp *rules, enum filter_machine machine) {
        rules->architectures = machine == FILTER_X86_64 ? x86_arches : arm_arches;
        rules->n_architectures = machine == FILTER_X86_64 ? ELEMENTSOF(x86_arches) : ELEMENTSOF(arm_arches);
}
