/* What a filter is refused for, its flags, its size, and what it costs. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <time.h>

#include "arena.h"
#include "filter_machine.h"
#include "filter_profile.h"
#include "plan/filter_build.h"
#include "plan/filter_verdict.h"
#include "plan/filter_emit.h"

#define FLAG(name) OCI_SECCOMP_FLAG_SECCOMP_FILTER_FLAG_##name

#if defined(__x86_64__)
#define OWN_ARCH AUDIT_ARCH_X86_64
#else
#define OWN_ARCH AUDIT_ARCH_AARCH64
#endif

static struct filter_program build(const struct oci_seccomp *rules) {
        struct filter_program program;

        if (filter_build_for(&arena, rules, FILTER_X86_64, &program, &err) < 0)
                FAIL("%s: %s", err.where, err.text);
        assert_true(filter_is_sound(program.instructions, program.count));
        return program;
}

static struct filter_run run(const struct filter_program *program, int number, uint64_t argument) {
        const struct seccomp_data data = { .nr = number, .arch = AUDIT_ARCH_X86_64, .args = { argument, argument, argument } };

        return filter_run(program->instructions, program->count, &data);
}

static void assert_refused(const struct oci_seccomp *rules, const char *where) {
        struct filter_program program = { NULL, 77 };

        assert_true(filter_build(&arena, rules, &program, &err) < 0);
        assert_int_equal(err.code, CODE_CONFIG_INVALID);
        assert_string_equal(err.where, where);
        assert_int_equal(program.count, 77);
}

static void an_errno_belongs_to_errno_and_trace_only(void **state) {
        struct oci_seccomp_rule rules[] = { RULE(ERRNO, NO_ARGS, "mount"), RULE(KILL, NO_ARGS, "sync") };
        struct oci_seccomp profile = { .default_action = ACT(ALLOW), .syscalls = rules, .n_syscalls = 2 };

        (void)state;
        rules[0].has = OCI_SECCOMP_RULE_HAS_ERRNO_RET;
        rules[0].errno_ret = ENOMEM;
        assert_int_equal(run(&(struct filter_program[]){ build(&profile) }[0], 165, 0).verdict, SECCOMP_RET_ERRNO | ENOMEM);
        rules[1].has = OCI_SECCOMP_RULE_HAS_ERRNO_RET;
        assert_refused(&profile, "linux.seccomp.syscalls[1].errnoRet");
        rules[1].has = 0;
        profile.has = OCI_SECCOMP_HAS_DEFAULT_ERRNO_RET;
        assert_refused(&profile, "linux.seccomp.defaultErrnoRet");
}

static void a_listener_is_not_asked_about_its_own_hand_over(void **state) {
        struct oci_seccomp_rule rules[] = { RULE(NOTIFY, NO_ARGS, "mount", "sendmsg") };
        struct oci_seccomp profile = { .default_action = ACT(ALLOW), .syscalls = rules, .n_syscalls = 1, .listener_path = "/run/agent" };

        (void)state;
        assert_refused(&profile, "linux.seccomp.syscalls[0].names[1]");
        rules[0].names[1] = "write";
        assert_refused(&profile, "linux.seccomp.syscalls[0].names[1]");
        rules[0].names[1] = "read";
        build(&profile);
        profile.listener_path = NULL;
        assert_refused(&profile, "linux.seccomp.listenerPath");
        profile.listener_metadata = "x";
        assert_refused(&profile, "linux.seccomp.listenerMetadata");
        profile = (struct oci_seccomp){ .default_action = ACT(NOTIFY), .listener_path = "/run/agent" };
        assert_refused(&profile, "linux.seccomp.defaultAction");
}

static void contradictory_rules_are_refused(void **state) {
        struct oci_seccomp_rule rules[] = {
                RULE(ALLOW, ARGS({ .index = 1, .value = 3, .op = CMP(EQ) }), "ioctl"),
                RULE(KILL, ARGS({ .index = 1, .value = 3, .op = CMP(EQ) }), "sync", "ioctl"),
        };
        struct oci_seccomp profile = { .default_action = ACT(ERRNO), .syscalls = rules, .n_syscalls = 2 };

        (void)state;
        assert_refused(&profile, "linux.seccomp.syscalls[1]");
        rules[1].action = ACT(ALLOW);
        build(&profile);
        rules[1].args[0].index = 6;
        assert_refused(&profile, "linux.seccomp.syscalls[1].args[0].index");
}

static void the_first_rule_without_conditions_decides_alone(void **state) {
        struct oci_seccomp_rule rules[] = {
                RULE(KILL, ARGS({ .index = 1, .value = 3, .op = CMP(EQ) }), "ioctl"),
                RULE(ALLOW, NO_ARGS, "ioctl"),
                RULE(TRAP, NO_ARGS, "ioctl"),
                RULE(LOG, ARGS({ .index = 1, .value = 4, .op = CMP(EQ) }), "ioctl"),
        };
        struct oci_seccomp profile = { .default_action = ACT(ERRNO), .syscalls = rules, .n_syscalls = 4 };
        struct filter_program program = build(&profile);

        (void)state;
        for (uint64_t a = 0; a < 6; a++)
                assert_int_equal(run(&program, 16, a).verdict, SECCOMP_RET_ALLOW);
        rules[1].action = ACT(ERRNO); /* the default: as if it were not there */
        program = build(&profile);
        assert_int_equal(run(&program, 16, 3).verdict, SECCOMP_RET_TRAP);
}

static void newer_calls_are_told_apart_from_refused_ones(void **state) {
        struct oci_seccomp_rule rules[] = { RULE(ALLOW, NO_ARGS, "openat2"), RULE(ERRNO, NO_ARGS, "close_range") };
        struct oci_seccomp profile = { .default_action = ACT(ERRNO), .syscalls = rules, .n_syscalls = 1 };
        struct filter_program program = build(&profile);

        (void)state;
        assert_int_equal(run(&program, 436, 0).verdict, SECCOMP_RET_ERRNO | EPERM);
        assert_int_equal(run(&program, 438, 0).verdict, SECCOMP_RET_ERRNO | ENOSYS);
        assert_int_equal(run(&program, 437, 0).verdict, SECCOMP_RET_ALLOW);
        assert_int_equal(run(&program, -1, 0).verdict, SECCOMP_RET_ERRNO | EPERM);
        assert_int_equal(run(&program, 0x40000000, 0).verdict, SECCOMP_RET_KILL_PROCESS);
        profile.default_action = ACT(KILL);
        program = build(&profile);
        assert_int_equal(run(&program, 436, 0).verdict, SECCOMP_RET_KILL_THREAD);
        assert_int_equal(run(&program, 438, 0).verdict, SECCOMP_RET_ERRNO | ENOSYS);
        profile.default_action = ACT(TRACE);
        program = build(&profile);
        assert_int_equal(run(&program, 438, 0).verdict, SECCOMP_RET_TRACE | EPERM);
}

static void an_empty_profile_is_its_default(void **state) {
        struct oci_seccomp profile = { .default_action = ACT(ALLOW) };
        struct filter_program program = build(&profile);

        (void)state;
        assert_int_equal(run(&program, 0, 0).verdict, SECCOMP_RET_ALLOW);
        profile.default_action = ACT(ERRNO);
        program = build(&profile);
        assert_int_equal(run(&program, 600, 0).verdict, SECCOMP_RET_ERRNO | EPERM);
}

static uint64_t flags_of(const struct oci_seccomp *rules) {
        uint64_t flags;

        assert_int_equal(filter_flags(rules, &flags, &err), 0);
        return flags;
}

static void flags_are_the_profiles_or_the_default(void **state) {
        enum oci_seccomp_flag all[] = { FLAG(TSYNC), FLAG(LOG), FLAG(SPEC_ALLOW), FLAG(WAIT_KILLABLE_RECV) };
        struct oci_seccomp_rule rule = RULE(NOTIFY, NO_ARGS, "mount");
        struct oci_seccomp profile = { .default_action = ACT(ALLOW) };
        uint64_t flags = 77;

        (void)state;
        assert_int_equal(flags_of(&profile), SECCOMP_FILTER_FLAG_SPEC_ALLOW);
        profile.flags = all;
        assert_int_equal(flags_of(&profile), 0);
        profile.n_flags = ELEMENTSOF(all);
        assert_int_equal(flags_of(&profile), SECCOMP_FILTER_FLAG_TSYNC | SECCOMP_FILTER_FLAG_LOG | SECCOMP_FILTER_FLAG_SPEC_ALLOW);
        profile.syscalls = &rule;
        profile.n_syscalls = 1;
        assert_int_equal(
                flags_of(&profile), SECCOMP_FILTER_FLAG_LOG | SECCOMP_FILTER_FLAG_SPEC_ALLOW | SECCOMP_FILTER_FLAG_NEW_LISTENER | 1u << 5);
        all[1] = (enum oci_seccomp_flag)9;
        assert_int_equal(filter_flags(&profile, &flags, &err), -EINVAL);
        assert_string_equal(err.where, "linux.seccomp.flags[1]");
        assert_int_equal(flags, 77);
}

/* Rules for so many different conditions that jumps are far and returns have to be repeated. */
static void jumps_reach_however_far(void **state) {
        enum { N = 600 };
        static struct oci_seccomp_arg args[N];
        static struct oci_seccomp_rule rules[N];
        struct oci_seccomp profile = { .default_action = ACT(ERRNO), .syscalls = rules };
        const char *name = "ioctl", *other = "read";
        struct filter_program program;

        (void)state;
        for (size_t i = 0; i < N; i++) {
                args[i] = (struct oci_seccomp_arg){ .index = 1, .value = i * 3 | i << 40, .op = CMP(EQ) };
                rules[i] = (struct oci_seccomp_rule){ .names = i % 2 ? &name : &other,
                        .n_names = 1,
                        .action = i % 3 ? ACT(ALLOW) : ACT(TRAP),
                        .args = &args[i],
                        .n_args = 1 };
        }
        profile.n_syscalls = N;
        program = build(&profile);
        assert_true(program.count > 1024);
        for (size_t i = 0; i < N; i++) {
                assert_int_equal(run(&program, i % 2 ? 16 : 0, args[i].value).verdict, i % 3 ? SECCOMP_RET_ALLOW : SECCOMP_RET_TRAP);
                assert_int_equal(run(&program, i % 2 ? 16 : 0, args[i].value + 1).verdict, SECCOMP_RET_ERRNO | EPERM);
        }
        profile.architectures = (enum oci_seccomp_arch[]){ ARCH(X86), ARCH(X32) };
        profile.n_architectures = 1;
        build(&profile);
        profile.n_architectures = 2;
        assert_int_equal(filter_build_for(&arena, &profile, FILTER_X86_64, &program, &err), -E2BIG);
        assert_string_equal(err.where, "linux.seccomp.syscalls");
}

static void fill(struct filter_code *code, unsigned n) {
        for (unsigned i = 0; i < n; i++)
                filter_emit(code, BPF_RET | BPF_K, FILTER_BROKEN);
}

/* A branch to two places so far away, neither of which is a return that could be copied. */
static void branch_far(unsigned far, unsigned near, bool yes_is_far) {
        struct filter_code code = { .count = 0 };
        struct seccomp_data data = { 0 };
        filter_label first, second;

        filter_emit(&code, BPF_RET | BPF_K, 11);
        first = filter_emit(&code, BPF_ALU | BPF_AND | BPF_K, UINT32_MAX);
        fill(&code, far);
        filter_emit(&code, BPF_RET | BPF_K, 22);
        second = filter_emit(&code, BPF_ALU | BPF_AND | BPF_K, UINT32_MAX);
        fill(&code, near);
        filter_emit_branch(&code, BPF_JEQ, 5, yes_is_far ? first : second, yes_is_far ? second : first);
        filter_emit(&code, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
        for (data.nr = 4; data.nr <= 5; data.nr++)
                assert_int_equal(filter_run(filter_code_start(&code), code.count, &data).verdict, (data.nr == 5) == yes_is_far ? 11 : 22);
}

static void jumps_reach_at_every_distance(void **state) {
        (void)state;
        for (unsigned near = 0; near < 262; near = near ? near + 1 : 245)
                for (unsigned far = 0; far < 262; far++) {
                        branch_far(far, near, true);
                        branch_far(far, near, false);
                }
}

/* On this machine's own architecture, for every call and a few arguments. */
static void what_a_filter_would_say_is_told_without_asking_the_kernel(void **state) {
        static const uint64_t arguments[] = { 0, 17, 0x8011, 0x7e020000, UINT64_MAX };
        struct oci_seccomp *profile = engine_default();
        struct filter_program program;
        unsigned allowed = 0;

        (void)state;
        assert_int_equal(filter_build(&arena, profile, &program, &err), 0);
        for (int number = 0; number < 500; number++)
                for (size_t i = 0; i < ELEMENTSOF(arguments); i++) {
                        const struct seccomp_data data = { .nr = number, .arch = OWN_ARCH, .args = { arguments[i] } };
                        bool expected = filter_run(program.instructions, program.count, &data).verdict == SECCOMP_RET_ALLOW;

                        assert_int_equal(filter_allows(&program, number, arguments[i]), expected);
                        allowed += expected;
                }
        assert_in_range(allowed, 100, 2400);
        program.count = 1; /* has no end */
        assert_false(filter_allows(&program, 0, 0));
}

static double now_us(void) {
        struct timespec t;

        clock_gettime(CLOCK_MONOTONIC, &t);
        return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void an_engines_default_profile_is_short_and_mostly_by_number(void **state) {
        struct oci_seccomp *profile = engine_default();
        struct filter_program program;
        unsigned most = 0, reading = 0;
        double start;

        (void)state;
        profile->architectures = (enum oci_seccomp_arch[]){ ARCH(X86_64), ARCH(X86), ARCH(X32) };
        profile->n_architectures = 3;
        start = now_us();
        program = build(profile);
        print_message("# %zu names: %u instructions in %.0f µs\n", profile->syscalls[0].n_names, program.count, now_us() - start);
        for (int number = 0; number < 500; number++) {
                struct filter_run r = run(&program, number, 0);

                most = r.steps > most ? r.steps : most;
                reading += r.read_arguments;
        }
        assert_int_equal(reading, 3); /* personality, socket and clone */
        assert_in_range(program.count, 100, 400);
        assert_in_range(most, 5, 40);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(an_errno_belongs_to_errno_and_trace_only),
                TEST(a_listener_is_not_asked_about_its_own_hand_over),
                TEST(contradictory_rules_are_refused),
                TEST(the_first_rule_without_conditions_decides_alone),
                TEST(newer_calls_are_told_apart_from_refused_ones),
                TEST(an_empty_profile_is_its_default),
                TEST(flags_are_the_profiles_or_the_default),
                TEST(jumps_reach_however_far),
                TEST(jumps_reach_at_every_distance),
                TEST(what_a_filter_would_say_is_told_without_asking_the_kernel),
                TEST(an_engines_default_profile_is_short_and_mostly_by_number),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
