/* The device program: run by a small machine for every kind of request and compared with what the rules say; loaded; in force. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>

#include "apply/cgroup_devices.h"
#include "base/fd.h"
#include "base/str.h"
#include "arena.h"
#include "cgroup_view.h"

#define M BPF_DEVCG_ACC_MKNOD
#define R BPF_DEVCG_ACC_READ
#define W BPF_DEVCG_ACC_WRITE
#define CHAR BPF_DEVCG_DEV_CHAR
#define BLOCK BPF_DEVCG_DEV_BLOCK
#define ANY UINT32_MAX

static struct plan_device_rule rule(bool allow, uint32_t type, uint32_t major, uint32_t minor, uint32_t access) {
        return (struct plan_device_rule){
                .has = (major == ANY ? 0 : PLAN_DEVICE_RULE_HAS_MAJOR) | (minor == ANY ? 0 : PLAN_DEVICE_RULE_HAS_MINOR),
                .allow = allow, .type = type, .major = major == ANY ? 0 : major, .minor = minor == ANY ? 0 : minor, .access = access,
        };
}

/* What the rules mean, straight from the sentence in the header. */
static bool meaning(const struct plan_device_rule *rules, size_t n, const struct bpf_cgroup_dev_ctx *request) {
        uint32_t type = request->access_type & 0xffff, access = request->access_type >> 16;

        for (uint32_t bit = M; bit <= W; bit <<= 1) {
                bool allowed = false;

                for (size_t i = 0; i < n; i++)
                        if ((rules[i].access & bit) && (!rules[i].type || rules[i].type == type) &&
                            (!(rules[i].has & PLAN_DEVICE_RULE_HAS_MAJOR) || rules[i].major == request->major) &&
                            (!(rules[i].has & PLAN_DEVICE_RULE_HAS_MINOR) || rules[i].minor == request->minor))
                                allowed = rules[i].allow;
                if ((access & bit) && !allowed)
                        return false;
        }
        return true;
}

/* As much of an eBPF machine as the program needs. -1: it did something else. */
static int run(const struct bpf_insn *p, size_t n, const struct bpf_cgroup_dev_ctx *request) {
        uint64_t reg[10] = { 0 };

        for (size_t pc = 0, steps = 0; pc < n && steps < 100000; steps++) {
                const struct bpf_insn *i = &p[pc++];
                uint32_t a = (uint32_t)reg[i->dst_reg], k = (uint32_t)i->imm;
                bool jump;

                switch (i->code) {
                case BPF_ALU64 | BPF_MOV | BPF_K: reg[i->dst_reg] = (uint64_t)(int64_t)i->imm; continue;
                case BPF_ALU | BPF_AND | BPF_K: reg[i->dst_reg] = a & k; continue;
                case BPF_LDX | BPF_MEM | BPF_W:
                        memcpy(&a, (const char *)request + i->off, sizeof a);
                        reg[i->dst_reg] = a;
                        continue;
                case BPF_JMP | BPF_JA: jump = true; break;
                case BPF_JMP | BPF_EXIT: return (int)reg[0];
                case BPF_JMP32 | BPF_JEQ | BPF_K: jump = a == k; break;
                case BPF_JMP32 | BPF_JNE | BPF_K: jump = a != k; break;
                case BPF_JMP32 | BPF_JGT | BPF_K: jump = a > k; break;
                case BPF_JMP32 | BPF_JLT | BPF_K: jump = a < k; break;
                case BPF_JMP32 | BPF_JLE | BPF_K: jump = a <= k; break;
                case BPF_JMP32 | BPF_JSET | BPF_K: jump = a & k; break;
                default: return -1;
                }
                if (jump)
                        pc += (size_t)(ssize_t)i->off;
        }
        return -1;
}

/* Does the kernel's verifier take it? Without the right to load programs nobody is asked. */
static int load(const struct bpf_insn *program, size_t n) {
        union bpf_attr attr;
        static char log[65536];
        int fd;

        memset(&attr, 0, sizeof attr);
        attr.prog_type = BPF_PROG_TYPE_CGROUP_DEVICE;
        attr.insns = (uintptr_t)program;
        attr.insn_cnt = (uint32_t)n;
        attr.license = (uintptr_t)"MIT";
        fd = (int)syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof attr);
        if (fd >= 0 || errno == EPERM)
                return fd;
        attr.log_buf = (uintptr_t)log;
        attr.log_size = sizeof log;
        attr.log_level = 1;
        (void)syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof attr);
        FAIL("%s", log);
        return -1;
}

static void check(const struct plan_device_rule *rules, size_t n, size_t *ret_n) {
        static const uint32_t numbers[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 136, 137, 1048575, 0x80000000, 0xfffffffe, 0xffffffff };
        struct bpf_insn *program = NULL;
        size_t n_program;

        assert_int_equal(cgroup_devices_program(&arena, rules, n, &program, &n_program, &err), 0);
        for (uint32_t type = BLOCK; type <= CHAR; type++)
                for (uint32_t access = 1; access <= (M | R | W); access++)
                        for (size_t i = 0; i < ELEMENTSOF(numbers); i++)
                                for (size_t j = 0; j < ELEMENTSOF(numbers); j++) {
                                        struct bpf_cgroup_dev_ctx request = { access << 16 | type, numbers[i], numbers[j] };
                                        int want = meaning(rules, n, &request), got = n_program ? run(program, n_program, &request) : 1;

                                        if (want != got)
                                                FAIL("type %u access %u %u:%u: rules say %d, program %d", type, access, numbers[i],
                                                        numbers[j], want, got);
                                }
        if (n_program) {
                int fd = load(program, n_program);

                close_fd(&fd);
        }
        *ret_n = n_program;
}

/* What an engine sends plus what the specification adds by itself. */
static size_t default_rules(struct plan_device_rule *rules) {
        const struct plan_device_rule list[] = {
                rule(false, 0, ANY, ANY, M | R | W), rule(true, CHAR, ANY, ANY, M), rule(true, BLOCK, ANY, ANY, M),
                rule(true, CHAR, 1, 3, M | R | W), rule(true, CHAR, 1, 8, M | R | W), rule(true, CHAR, 1, 7, M | R | W),
                rule(true, CHAR, 5, 0, M | R | W), rule(true, CHAR, 1, 5, M | R | W), rule(true, CHAR, 1, 9, M | R | W),
                rule(true, CHAR, 5, 1, M | R | W), rule(true, CHAR, 136, ANY, M | R | W), rule(true, CHAR, 5, 2, M | R | W),
        };

        memcpy(rules, list, sizeof list);
        return ELEMENTSOF(list);
}

static void the_default_rules_make_a_short_program(void **state) {
        struct plan_device_rule rules[16];
        size_t n = default_rules(rules), n_program;

        (void)state;
        check(rules, n, &n_program);
        print_message("# %zu rules: %zu instructions\n", n, n_program);
        assert_in_range(n_program, 5, 20);
}

static void rules_that_allow_everything_need_no_program(void **state) {
        struct plan_device_rule rules[4] = { rule(false, CHAR, 1, 3, R), rule(true, 0, ANY, ANY, M | R | W) };
        size_t n;

        (void)state;
        check(rules, 2, &n);
        assert_int_equal(n, 0);
        rules[1] = rule(true, CHAR, ANY, ANY, M | R | W);
        check(rules, 2, &n);
        assert_int_not_equal(n, 0);
        rules[2] = rule(true, BLOCK, ANY, ANY, R | W);
        rules[3] = rule(true, BLOCK, ANY, ANY, M);
        check(rules, 4, &n);
        assert_int_equal(n, 0);
        rules[2] = rule(true, 0, ANY, ANY, M | R | W);
        check(rules, 3, &n);
        assert_int_equal(n, 0);
        check(rules, 0, &n); /* no rule allows anything */
        assert_int_not_equal(n, 0);
}

static void the_last_rule_decides_each_access(void **state) {
        const struct plan_device_rule rules[] = {
                rule(true, 0, ANY, ANY, M | R | W),
                rule(false, CHAR, 1, ANY, W),
                rule(true, CHAR, 1, 3, W),
                rule(false, 0, 5, 2, M | R | W),
                rule(true, BLOCK, 5, 2, R),
                rule(false, BLOCK, ANY, 7, W | M),
        };
        size_t n;

        (void)state;
        for (size_t i = 0; i <= ELEMENTSOF(rules); i++)
                check(rules, i, &n);
}

static uint64_t seed = 88172645463325252u;

static uint32_t rnd(uint32_t below) {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        return (uint32_t)(seed >> 33) % below;
}

static void random_rules_mean_what_they_say(void **state) {
        static const uint32_t numbers[] = { 0, 1, 2, 3, 4, 5, 6, 7, 9, 0x80000000, 0xfffffffe, 0xffffffff };

        (void)state;
        for (int i = 0; i < 3000; i++) {
                struct plan_device_rule rules[12];
                size_t n = rnd(ELEMENTSOF(rules)), n_program;

                for (size_t j = 0; j < n; j++) {
                        rules[j] = rule(rnd(3), rnd(3), 0, 0, rnd(2) ? M | R | W : rnd(8));
                        rules[j].has = rnd(4);
                        rules[j].major = numbers[rnd(i % 2 ? 3 : ELEMENTSOF(numbers))];
                        rules[j].minor = numbers[rnd(ELEMENTSOF(numbers))];
                }
                check(rules, n, &n_program);
                arena_free(&arena);
        }
}

static void very_many_rules_are_joined_or_refused(void **state) {
        enum { N = 3000 };
        struct plan_device_rule *rules = arena_array(&arena, struct plan_device_rule, N + 1002);
        struct bpf_insn *program;
        size_t n;

        (void)state;
        for (uint32_t i = 0; i < N; i++)
                rules[i] = rule(true, CHAR, 8, i, M | R | W);
        check(rules, N, &n);
        assert_in_range(n, 5, 12);
        assert_int_equal(cgroup_devices_program(&arena, rules, N + 1002, &program, &n, &err), -E2BIG);
}

/* ---- in force, where the tests run in a cgroup2 hierarchy ------------------------------------------------------------------- */

static double now_us(void) {
        struct timespec t;

        clock_gettime(CLOCK_MONOTONIC, &t);
        return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int make_cgroup(char *path, size_t size) {
        snprintf(path, size, "/sys/fs/cgroup/test-devices.%d", getpid());
        if (!have_cgroups() || mkdir(path, 0755) < 0)
                return -1;
        return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static int in_cgroup(int cgroup) {
        int procs = openat(cgroup, "cgroup.procs", O_WRONLY | O_CLOEXEC), fd;

        if (write(procs, "0", 1) != 1)
                return 1;
        if (open("/dev/null", O_RDWR | O_CLOEXEC) < 0 || open("/dev/zero", O_RDONLY | O_CLOEXEC) < 0)
                return 2;
        fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
        if (fd >= 0 || errno != EPERM)
                return 3;
        if (open("/dev/zero", O_WRONLY | O_CLOEXEC) >= 0 || errno != EPERM)
                return 4;
        if (mknod("/tmp/test-devices-node", S_IFCHR | 0600, makedev(1, 9)) == 0 || errno != EPERM)
                return 5;
        return 0;
}

static void attached_rules_are_in_force(void **state) {
        const struct plan_device_rule rules[] = { rule(true, CHAR, 1, 3, M | R | W), rule(true, CHAR, 1, 5, R) };
        struct plan_device_rule more[16];
        char path[128];
        int fd = make_cgroup(path, sizeof path), status, r;
        double start;
        size_t n;
        pid_t pid;

        (void)state;
        if (fd < 0) {
                print_message("# no cgroup2 hierarchy that may be written to\n");
                return;
        }
        r = cgroup_devices_attach(fd, rules, ELEMENTSOF(rules), &err);
        if (r == -EPERM) {
                close(fd);
                rmdir(path);
                print_message("# eBPF is not for this user\n");
                return;
        }
        assert_int_equal(r, 0);
        n = default_rules(more);
        start = now_us();
        assert_int_equal(cgroup_devices_attach(fd, more, n, &err), 0);
        print_message("# default rules: built, loaded and attached in %.0f µs\n", now_us() - start);
        pid = fork();
        if (pid == 0)
                _exit(in_cgroup(fd));
        waitpid(pid, &status, 0);
        close(fd);
        assert_int_equal(rmdir(path), 0);
        assert_int_equal(status, 0);
}

static void a_descriptor_of_something_else_is_an_error(void **state) {
        const struct plan_device_rule rules[] = { rule(true, CHAR, 1, 3, M | R | W) };
        _cleanup_close_ int fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

        (void)state;
        assert_true(cgroup_devices_attach(fd, rules, 1, &err) < 0);
        assert_int_equal(err.code, CODE_RESOURCE_LIMITS_UNSUPPORTED);
        assert_string_equal(err.where, "linux.resources.devices");
}

int main(int argc, char **argv) {
        const struct CMUnitTest tests[] = {
                TEST(the_default_rules_make_a_short_program),
                TEST(rules_that_allow_everything_need_no_program),
                TEST(the_last_rule_decides_each_access),
                TEST(random_rules_mean_what_they_say),
                TEST(very_many_rules_are_joined_or_refused),
                TEST(attached_rules_are_in_force),
                TEST(a_descriptor_of_something_else_is_an_error),
        };

        (void)argc;
        enter_cgroup_view(argv);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
