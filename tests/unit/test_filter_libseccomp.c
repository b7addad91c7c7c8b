/* Does our program decide what libseccomp's decides? Profiles as engines write them, and every operator at its borders. */
#define _GNU_SOURCE
#include "filter_both.h"

static void an_engines_default_profile_decides_alike(void **state) {
        struct oci_seccomp *profile = engine_default();

        (void)state;
        set_arches(profile, FILTER_X86_64);
        compare_all(profile, FILTER_X86_64);
        set_arches(profile, FILTER_AARCH64);
        compare_all(profile, FILTER_AARCH64);
}

static void a_profile_without_architectures_decides_alike(void **state) {
        struct oci_seccomp profile = *engine_default();

        (void)state;
        profile.architectures = NULL;
        profile.n_architectures = 0;
        compare_all(&profile, FILTER_X86_64);
        compare_all(&profile, FILTER_AARCH64);
}

static void a_deny_list_decides_alike(void **state) {
        struct oci_seccomp_rule rules[] = {
                RULE(ERRNO, NO_ARGS, "mount", "umount2", "ptrace", "socketcall"),
                RULE(KILL, NO_ARGS, "kexec_load"),
                RULE(KILL_PROCESS, NO_ARGS, "reboot"),
                RULE(TRAP, NO_ARGS, "bpf"),
                RULE(TRACE, NO_ARGS, "keyctl"),
                RULE(LOG, ARGS({ .index = 1, .value = 1ull << 40, .op = CMP(GE) }), "mmap", "mprotect"),
                RULE(ALLOW, NO_ARGS, "read"),
        };
        struct oci_seccomp profile = { .default_action = ACT(ALLOW), .syscalls = rules, .n_syscalls = ELEMENTSOF(rules) };

        (void)state;
        set_arches(&profile, FILTER_X86_64);
        compare_all(&profile, FILTER_X86_64);
        profile.default_action = ACT(LOG);
        compare_all(&profile, FILTER_X86_64);
        profile.default_action = ACT(KILL);
        compare_all(&profile, FILTER_X86_64);
        profile.default_action = ACT(TRACE);
        compare_all(&profile, FILTER_X86_64);
        set_arches(&profile, FILTER_AARCH64);
        compare_all(&profile, FILTER_AARCH64);
}

static void every_operator_decides_alike_at_every_border(void **state) {
        static const uint64_t values[] = { 0, 1, 0x7fffffff, 0x80000000, 0xffffffff, 0x100000000, 0x100000001, 0x1ffffffff, 1ull << 63,
                UINT64_MAX };
        struct oci_seccomp_arg arg = { .index = 3 };
        struct oci_seccomp_rule rule = {
                .names = (const char *[]){ "openat", "close_range" }, .n_names = 2, .action = ACT(ALLOW), .args = &arg, .n_args = 1
        };
        struct oci_seccomp profile = { .default_action = ACT(ERRNO), .syscalls = &rule, .n_syscalls = 1 };

        (void)state;
        set_arches(&profile, FILTER_X86_64);
        for (int op = CMP(NE); op <= CMP(MASKED_EQ); op++)
                for (size_t i = 0; i < ELEMENTSOF(values); i++) {
                        struct both *both;
                        struct limits l;

                        arg.op = (enum oci_seccomp_operator)op;
                        arg.value = op == CMP(MASKED_EQ) ? 0xffff00000000ffff >> (i * 3) : values[i];
                        arg.value_two = values[i];
                        both = build(&profile, FILTER_X86_64);
                        l = limits(both);
                        assert_int_equal(build_theirs(both), 0);
                        assert_int_equal(
                                compare(both, &l, 257, 400, true) + compare(both, &l, 295, 400, true) + compare(both, &l, 436, 400, true),
                                0);
                        arena_free(&both->arena);
                }
}

static void calls_behind_socketcall_and_ipc_decide_alike(void **state) {
        struct oci_seccomp_rule rules[] = {
                RULE(ALLOW, ARGS({ .index = 0, .value = 2, .op = CMP(EQ) }, { .index = 1, .value = 1, .op = CMP(EQ) }), "socket", "accept",
                        "semop"),
                RULE(ALLOW, NO_ARGS, "bind", "connect", "listen", "getsockname", "getpeername", "socketpair", "send", "recv", "sendto",
                        "recvfrom"),
                RULE(ALLOW, NO_ARGS, "shutdown", "setsockopt", "getsockopt", "sendmsg", "recvmsg", "accept4", "recvmmsg", "sendmmsg",
                        "statx"),
                RULE(ALLOW, NO_ARGS, "semget", "semctl", "semtimedop", "msgsnd", "msgrcv", "msgget", "msgctl", "shmat", "shmdt", "shmget",
                        "shmctl"),
        };
        struct oci_seccomp profile = { .default_action = ACT(ERRNO), .syscalls = rules, .n_syscalls = ELEMENTSOF(rules) };

        (void)state;
        set_arches(&profile, FILTER_X86_64);
        compare_all(&profile, FILTER_X86_64);
        profile.n_syscalls = 1; /* the largest named number is 43 on x86_64 and none at all on i386 */
        compare_all(&profile, FILTER_X86_64);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(an_engines_default_profile_decides_alike),
                cmocka_unit_test(a_profile_without_architectures_decides_alike),
                cmocka_unit_test(a_deny_list_decides_alike),
                cmocka_unit_test(every_operator_decides_alike_at_every_border),
                cmocka_unit_test(calls_behind_socketcall_and_ipc_decide_alike),
        };

        return RUN_TESTS(tests);
}
