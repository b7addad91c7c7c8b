/* What the payload filter says to calls, on both machines, for every part that can be asked for. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <sys/socket.h>

#include "arena.h"
#include "filter_machine.h"
#include "filter_profile.h"
#include "plan/payload_filter.h"
#include "plan/payload_filter_rules.h"
#include "plan/syscalls.h"

enum {
        NONE = 1,
        NETWORK = 2,
        SOCKETS_NONE = 4,
        SOCKETS_NETWORK = 8,
        DISK = 16,
        STRICT = NONE | NETWORK,
        SOCKETS = SOCKETS_NONE | SOCKETS_NETWORK,
        OFFLINE = NONE | SOCKETS_NONE,
        ONLINE = NETWORK | SOCKETS_NETWORK,
        ALL = STRICT | SOCKETS,
        FILES = STRICT | DISK
};

/* What bundles can ask for, each a bit of the above. */
static const unsigned requests[] = {
        PAYLOAD_FILTER_ISOLATION | PAYLOAD_FILTER_PROJECT | PAYLOAD_FILTER_NO_NETWORK,
        PAYLOAD_FILTER_ISOLATION | PAYLOAD_FILTER_PROJECT | PAYLOAD_FILTER_NETWORK,
        PAYLOAD_FILTER_NO_NETWORK,
        PAYLOAD_FILTER_NETWORK,
        PAYLOAD_FILTER_PROJECT,
};
static const enum filter_machine machines[] = { FILTER_X86_64, FILTER_AARCH64 };
static const uint32_t audits[] = { AUDIT_ARCH_X86_64, AUDIT_ARCH_AARCH64 };

static const struct syscall_row *first_call(void) {
        return syscall_find("_llseek", NULL);
}

static const struct syscall_row *last_call(void) {
        return syscall_find("writev", NULL);
}

static int number_of(const struct syscall_row *call, enum filter_machine machine) {
        return call->numbers[machine == FILTER_X86_64 ? SYSCALL_X86_64 : SYSCALL_AARCH64];
}

static struct filter_program build(unsigned parts, enum filter_machine machine) {
        struct filter_program program = payload_filter_build(&arena, parts, machine);

        assert_true(filter_is_sound(program.instructions, program.count));
        return program;
}

static uint32_t ask(const struct filter_program *program, uint32_t audit, uint32_t number, const uint64_t args[6]) {
        struct seccomp_data data = { .nr = (int)number, .arch = audit };

        memcpy(data.args, args, sizeof data.args);
        return filter_run(program->instructions, program->count, &data).verdict;
}

static const uint64_t zeros[6];

/* ---- the table, beside that of the calls ---------------------------------------------------------------------------------- */

static void every_rule_has_the_numbers_of_its_call(void **state) {
        (void)state;
        for (size_t i = 0; i < n_payload_rules; i++) {
                const struct payload_rule *rule = &payload_rules[i];
                const struct syscall_row *call = syscall_find(rule->call, NULL);

                if (!call || rule->numbers[0] != call->numbers[SYSCALL_X86_64] || rule->numbers[1] != call->numbers[SYSCALL_AARCH64])
                        FAIL("%s: %d, %d", rule->call, rule->numbers[0], rule->numbers[1]);
                assert_true(rule->parts);
        }
}

/* Who adds a call to plan/syscalls.c decides here whether a payload may make it. */
static void numbers_without_a_call_are_no_calls(void **state) {
        static bool known[ELEMENTSOF(machines)][1024];

        (void)state;
        for (const struct syscall_row *call = first_call(); call <= last_call(); call++)
                for (size_t m = 0; m < ELEMENTSOF(machines); m++)
                        if (number_of(call, machines[m]) >= 0)
                                known[m][number_of(call, machines[m])] = true;
        for (size_t m = 0; m < ELEMENTSOF(machines); m++)
                for (size_t r = 0; r < ELEMENTSOF(requests); r++) {
                        struct filter_program program = build(requests[r], machines[m]);

                        for (uint32_t number = 0; number < 1024; number++) {
                                bool unknown = ask(&program, audits[m], number, zeros) == (SECCOMP_RET_ERRNO | ENOSYS);
                                bool clone3 = number == 435 && requests[r] & PAYLOAD_FILTER_ISOLATION;

                                if (unknown != (!known[m][number] || clone3))
                                        FAIL("%u on machine %zu", number, m);
                        }
                }
}

/* ---- calls ---------------------------------------------------------------------------------------------------------------- */

#define HIGH (UINT64_C(1) << 32)
#define ARG(...) \
        { __VA_ARGS__ }

/* What is refused, and beside it what is not, by bits of the requests in which it is. */
static const struct expectation {
        const char *call;
        uint64_t args[6];
        unsigned refused;
} expectations[] = {
        { "ptrace", ARG(0), STRICT },
        { "process_vm_readv", ARG(0), STRICT },
        { "process_vm_writev", ARG(0), STRICT },
        { "pidfd_getfd", ARG(0), ALL },
        { "kcmp", ARG(0), STRICT },
        { "process_madvise", ARG(0), STRICT },
        { "move_pages", ARG(0), STRICT },
        { "migrate_pages", ARG(0), STRICT },
        { "modify_ldt", ARG(0), STRICT },
        { "kill", ARG(1, 9), 0 },
        { "prlimit64", ARG(0, 7, 0x1000), 0 },
        { "prlimit64", ARG(HIGH, 7, 0x1000), 0 },
        { "prlimit64", ARG(1, 7, 0), 0 },
        { "prlimit64", ARG(1, 7, 0x1000), STRICT },
        { "prlimit64", ARG(1, 7, HIGH), STRICT },
        { "prlimit64", ARG(HIGH | 1, 7, 0x1000), STRICT },
        { "sched_setaffinity", ARG(0, 8, 0x1000), 0 },
        { "sched_setaffinity", ARG(1, 8, 0x1000), STRICT },
        { "sched_setparam", ARG(1), STRICT },
        { "sched_setparam", ARG(0), 0 },
        { "sched_setscheduler", ARG(1), STRICT },
        { "sched_setscheduler", ARG(0), 0 },
        { "sched_setattr", ARG(1), STRICT },
        { "sched_setattr", ARG(0), 0 },
        { "sched_getaffinity", ARG(1), 0 },
        { "setpriority", ARG(0, 0, 5), 0 },
        { "setpriority", ARG(0, 1, 5), STRICT },
        { "setpriority", ARG(1, 0, 5), 0 },
        { "setpriority", ARG(2, 0, 5), STRICT },
        { "ioprio_set", ARG(1, 0, 5), 0 },
        { "ioprio_set", ARG(1, 1, 5), STRICT },
        { "ioprio_set", ARG(3, 0, 5), STRICT },

        { "clone", ARG(0x1200011), 0 },
        { "clone", ARG(0x80), 0 }, /* a signal, not CLONE_NEWTIME */
        { "clone", ARG(0x20011), STRICT },
        { "clone", ARG(0x02000011), STRICT },
        { "clone", ARG(0x04000011), STRICT },
        { "clone", ARG(0x08000011), STRICT },
        { "clone", ARG(0x10000011), STRICT },
        { "clone", ARG(0x20000011), STRICT },
        { "clone", ARG(0x40000011), STRICT },
        { "clone", ARG(HIGH | 0x10000011), STRICT },
        { "unshare", ARG(0x10000000), STRICT },
        { "unshare", ARG(0x400), STRICT },
        { "setns", ARG(3), ALL },
        { "mount", ARG(0), STRICT },
        { "umount2", ARG(0), STRICT },
        { "pivot_root", ARG(0), STRICT },
        { "chroot", ARG(0), STRICT },
        { "fsopen", ARG(0), STRICT },
        { "fsconfig", ARG(0), STRICT },
        { "fsmount", ARG(0), STRICT },
        { "fspick", ARG(0), STRICT },
        { "move_mount", ARG(0), STRICT },
        { "open_tree", ARG(0), STRICT },
        { "open_tree_attr", ARG(0), STRICT },
        { "mount_setattr", ARG(0), STRICT },
        { "open_by_handle_at", ARG(0), STRICT },
        { "name_to_handle_at", ARG(0), 0 },
        { "statmount", ARG(0), 0 },

        { "bpf", ARG(0), STRICT },
        { "perf_event_open", ARG(0), STRICT },
        { "userfaultfd", ARG(0), STRICT },
        { "keyctl", ARG(0), STRICT },
        { "add_key", ARG(0), STRICT },
        { "request_key", ARG(0), STRICT },
        { "io_uring_setup", ARG(0), ALL },
        { "io_uring_enter", ARG(0), ALL },
        { "io_uring_register", ARG(0), ALL },
        { "personality", ARG(0), 0 },
        { "personality", ARG(0xffffffff), 0 },
        { "personality", ARG(UINT64_MAX), 0 },
        { "personality", ARG(0x40000), 0 },
        { "personality", ARG(8), STRICT },
        { "personality", ARG(HIGH | 0x400000), STRICT },
        { "kexec_load", ARG(0), STRICT },
        { "finit_module", ARG(0), STRICT },
        { "init_module", ARG(0), STRICT },
        { "delete_module", ARG(0), STRICT },
        { "swapon", ARG(0), STRICT },
        { "reboot", ARG(0), STRICT },
        { "acct", ARG(0), STRICT },
        { "syslog", ARG(0), STRICT },
        { "mq_open", ARG(0), STRICT },
        { "shmget", ARG(0), STRICT },
        { "seccomp", ARG(1), 0 },
        { "landlock_restrict_self", ARG(3), 0 },

        { "ioctl", ARG(0, 0x5412), STRICT },
        { "ioctl", ARG(0, HIGH | 0x5412), STRICT },
        { "ioctl", ARG(0, 0x541c), STRICT },
        { "ioctl", ARG(0, 0x5423), STRICT },
        { "ioctl", ARG(0, 0x5413), 0 },
        { "ioctl", ARG(0, 0x401c5820), FILES },
        { "ioctl", ARG(0, 0xdeadbeef401c5820), FILES },
        { "ioctl", ARG(0, 0x40086602), FILES },
        { "ioctl", ARG(0, HIGH << 31 | 0x40086602), FILES },
        { "ioctl", ARG(0, 0x40046602), FILES },
        { "ioctl", ARG(0x401c5820, 0x801c581f), 0 },
        { "file_setattr", ARG(0), FILES },
        { "file_getattr", ARG(0), 0 },
        { "quotactl", ARG(0), FILES },
        { "quotactl_fd", ARG(0), FILES },

        { "socket", ARG(AF_INET, SOCK_STREAM), OFFLINE },
        { "socket", ARG(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 6), OFFLINE },
        { "socket", ARG(HIGH | AF_INET, HIGH | SOCK_STREAM, HIGH | 6), OFFLINE },
        { "socket", ARG(AF_INET, SOCK_DGRAM, 17), OFFLINE },
        { "socket", ARG(AF_INET6, SOCK_DGRAM), OFFLINE },
        { "socket", ARG(AF_INET, SOCK_STREAM, 17), ALL },
        { "socket", ARG(AF_INET, SOCK_DGRAM, 6), ALL },
        { "socket", ARG(AF_INET, SOCK_STREAM, 262), ALL },
        { "socket", ARG(AF_INET, SOCK_STREAM, 132), ALL },
        { "socket", ARG(AF_INET, SOCK_DGRAM, 136), ALL },
        { "socket", ARG(AF_INET, SOCK_DGRAM, 1), ALL },
        { "socket", ARG(AF_INET, SOCK_RAW, 6), ALL },
        { "socket", ARG(AF_INET, SOCK_SEQPACKET, 132), ALL },
        { "connect", ARG(3), OFFLINE },
        { "socketpair", ARG(AF_UNIX, SOCK_STREAM), 0 },
        { "socketpair", ARG(HIGH | AF_UNIX, HIGH | SOCK_STREAM), 0 },
        { "socketpair", ARG(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC), 0 },
        { "socketpair", ARG(AF_UNIX, SOCK_DGRAM), ALL },
        { "socketpair", ARG(AF_UNIX, SOCK_RAW | SOCK_NONBLOCK), ALL },
        { "socketpair", ARG(30, SOCK_STREAM), ALL },
        { "bind", ARG(3), ALL },
        { "listen", ARG(3), ALL },
        { "accept", ARG(3), ALL },
        { "accept4", ARG(3), ALL },
        { "setsockopt", ARG(3, 6, 31), ALL },
        { "setsockopt", ARG(3, HIGH | 6, HIGH | 31), ALL },
        { "setsockopt", ARG(3, 6, 1), 0 },
        { "setsockopt", ARG(3, 1, 31), 0 },
        { "recvmsg", ARG(3), 0 },
};

static void check(const struct filter_program *program, size_t m, size_t r, const struct expectation *e) {
        const struct syscall_row *call = syscall_find(e->call, NULL);
        bool refused = e->refused >> r & 1;
        uint32_t verdict;

        assert_non_null(call);
        if (number_of(call, machines[m]) < 0)
                return;
        verdict = ask(program, audits[m], (uint32_t)number_of(call, machines[m]), e->args);
        if (verdict != (refused ? SECCOMP_RET_ERRNO | EPERM : SECCOMP_RET_ALLOW))
                FAIL("%s(%llx, %llx, %llx) on machine %zu, request %zu: %08x", e->call, (long long)e->args[0], (long long)e->args[1],
                        (long long)e->args[2], m, r, verdict);
}

static void what_is_refused_is_refused_and_nothing_beside_it(void **state) {
        (void)state;
        for (size_t m = 0; m < ELEMENTSOF(machines); m++)
                for (size_t r = 0; r < ELEMENTSOF(requests); r++) {
                        struct filter_program program = build(requests[r], machines[m]);

                        for (size_t i = 0; i < ELEMENTSOF(expectations); i++)
                                check(&program, m, r, &expectations[i]);
                }
}

static void every_family_type_and_protocol_but_tcp_and_udp_is_refused(void **state) {
        (void)state;
        for (size_t m = 0; m < ELEMENTSOF(machines); m++)
                for (size_t r = 0; r < ELEMENTSOF(requests) - 1; r++) {
                        struct filter_program program = build(requests[r], machines[m]);

                        for (uint64_t family = 0; family < 64; family++)
                                for (uint64_t type = 0; type < 16; type++)
                                        for (uint64_t protocol = 0; protocol < 300; protocol++) {
                                                bool tcp = type == SOCK_STREAM && (protocol == 0 || protocol == 6);
                                                bool udp = type == SOCK_DGRAM && (protocol == 0 || protocol == 17);
                                                bool internet = family == AF_INET || family == AF_INET6;
                                                bool pair = family == AF_UNIX && (type == SOCK_STREAM || type == SOCK_SEQPACKET);
                                                bool offline = OFFLINE >> r & 1;

                                                check(&program, m, r,
                                                        &(struct expectation){ "socket", ARG(family, type, protocol),
                                                                (unsigned)(!internet || !(tcp || udp) || offline) << r });
                                                check(&program, m, r,
                                                        &(struct expectation){
                                                                "socketpair", ARG(family, type, protocol), (unsigned)!pair << r });
                                        }
                }
}

static void calls_of_another_architecture_end_the_process(void **state) {
        static const uint32_t foreign[] = { AUDIT_ARCH_I386, AUDIT_ARCH_ARM, AUDIT_ARCH_S390X, 0 };

        (void)state;
        for (size_t m = 0; m < ELEMENTSOF(machines); m++)
                for (size_t r = 0; r < ELEMENTSOF(requests); r++) {
                        struct filter_program program = build(requests[r], machines[m]);

                        for (uint32_t number = 0; number < 600; number++) {
                                for (size_t i = 0; i < ELEMENTSOF(foreign); i++)
                                        assert_int_equal(ask(&program, foreign[i], number, zeros), SECCOMP_RET_KILL_PROCESS);
                                assert_int_equal(ask(&program, audits[!m], number, zeros), SECCOMP_RET_KILL_PROCESS);
                                if (machines[m] == FILTER_X86_64)
                                        assert_int_equal(
                                                ask(&program, audits[m], number | FILTER_X32_BIT, zeros), SECCOMP_RET_KILL_PROCESS);
                        }
                }
}

/* Less than an engine's default profile would be a bad surprise. */
static void strict_refuses_what_engines_refuse_by_default(void **state) {
        static const char *const harmless[] = { "get_mempolicy", "mbind", "set_mempolicy", /* of one's own memory */
                "clock_adjtime", "fanotify_init", /* the kernel lets those without privilege only look */
                "map_shadow_stack", "uprobe", "uretprobe" };

        (void)state;
        for (size_t m = 0; m < ELEMENTSOF(machines); m++) {
                struct filter_program program = build(requests[0], machines[m]);

                for (size_t i = 0; i < ELEMENTSOF(refused); i++) {
                        const struct syscall_row *call = syscall_find(refused[i], NULL);
                        const uint64_t every_bit[6] = { 0x7fffffff, 0x7fffffff, 0x7fffffff };
                        bool allowed = call && number_of(call, machines[m]) >= 0 &&
                                ask(&program, audits[m], (uint32_t)number_of(call, machines[m]), every_bit) == SECCOMP_RET_ALLOW;

                        for (size_t j = 0; j < ELEMENTSOF(harmless); j++)
                                allowed = allowed && !streq(refused[i], harmless[j]);
                        if (allowed)
                                FAIL("%s", refused[i]);
                }
        }
}

/* ---- what asks for it ------------------------------------------------------------------------------------------------------- */

static void the_parts_follow_from_the_request(void **state) {
        struct sage_resources disk = { .has = SAGE_RESOURCES_HAS_DISK_MB }, memory = { .has = SAGE_RESOURCES_HAS_MEMORY_MB };
        struct sage_network none = { .mode = SAGE_NETWORK_MODE_NONE }, some = { .mode = SAGE_NETWORK_MODE_UNRESTRICTED };
        const struct {
                struct sage_request request;
                unsigned parts;
        } rows[] = {
                { { .has = SAGE_REQUEST_HAS_PROFILE }, requests[0] },
                { { .has = SAGE_REQUEST_HAS_PROFILE, .network = &none, .resources = &disk }, requests[0] },
                { { .has = SAGE_REQUEST_HAS_PROFILE, .network = &some, .resources = &memory }, requests[1] },
                { { .network = &none }, requests[2] },
                { { .network = &some, .resources = &memory }, requests[3] },
                { { .resources = &disk }, requests[4] },
                { { .resources = &disk, .network = &some }, PAYLOAD_FILTER_PROJECT | PAYLOAD_FILTER_NETWORK },
                { { .resources = &memory }, 0 },
        };

        (void)state;
        assert_int_equal(payload_filter_parts(NULL), 0);
        for (size_t i = 0; i < ELEMENTSOF(rows); i++)
                assert_int_equal(payload_filter_parts(&rows[i].request), rows[i].parts);
}

static void without_a_part_there_is_no_program(void **state) {
        (void)state;
        assert_int_equal(payload_filter_build(&arena, 0, FILTER_X86_64).count, 0);
}

/* The kernel answers for numbers whose outcome depends on nothing else without running the program (kernel/seccomp.c, seccomp_cache_prepare). */
static void it_is_short_and_mostly_by_number(void **state) {
        (void)state;
        for (size_t m = 0; m < ELEMENTSOF(machines); m++)
                for (size_t r = 0; r < ELEMENTSOF(requests); r++) {
                        struct filter_program program = build(requests[r], machines[m]);
                        unsigned reading = 0, most = 0;

                        for (uint32_t number = 0; number < 500; number++) {
                                const struct seccomp_data data = { .nr = (int)number, .arch = audits[m] };
                                struct filter_run run = filter_run(program.instructions, program.count, &data);

                                reading += run.read_arguments;
                                most = run.steps > most ? run.steps : most;
                        }
                        print_message("# machine %zu, request %zu: %u instructions, at most %u steps, %u calls by argument\n", m, r,
                                program.count, most, reading);
                        assert_in_range(program.count, 10, 400);
                        assert_in_range(reading, 1, 13);
                        assert_in_range(most, 5, 30);
                }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(every_rule_has_the_numbers_of_its_call),
                TEST(numbers_without_a_call_are_no_calls),
                TEST(what_is_refused_is_refused_and_nothing_beside_it),
                TEST(every_family_type_and_protocol_but_tcp_and_udp_is_refused),
                TEST(calls_of_another_architecture_end_the_process),
                TEST(strict_refuses_what_engines_refuse_by_default),
                TEST(the_parts_follow_from_the_request),
                TEST(without_a_part_there_is_no_program),
                TEST(it_is_short_and_mostly_by_number),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
