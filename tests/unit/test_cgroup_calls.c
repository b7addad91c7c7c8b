/* How few system calls a cgroup takes. */
#define _GNU_SOURCE
#include "cgroups.h"

#include <sys/ptrace.h>
#include <sys/syscall.h>

/* Memory is the allocator's business, and under a sanitizer plenty. */
static bool is_for_memory(pid_t pid) {
        struct __ptrace_syscall_info info = { 0 };

        if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, (void *)sizeof info, &info) <= 0 || info.op != PTRACE_SYSCALL_INFO_ENTRY)
                return true; /* the way out */
        switch (info.entry.nr) {
        case SYS_brk:
        case SYS_mmap:
        case SYS_munmap:
        case SYS_madvise:
        case SYS_mprotect:
        case SYS_prctl: /* names a mapping */
                return true;
        default:
                return false;
        }
}

/* How many system calls BODY makes. */
static unsigned count_calls(void (*body)(void)) {
        unsigned calls = 0;
        int status, signals = 0;
        pid_t pid = fork();

        if (pid == 0) {
                ptrace(PTRACE_TRACEME, 0, NULL, NULL);
                raise(SIGSTOP);
                raise(SIGUSR1);
                body();
                raise(SIGUSR1);
                _exit(0);
        }
        waitpid(pid, &status, 0);
        ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
        while (ptrace(PTRACE_SYSCALL, pid, NULL, NULL) == 0 && waitpid(pid, &status, 0) == pid && WIFSTOPPED(status)) {
                if (WSTOPSIG(status) == SIGUSR1 && ++signals == 2)
                        break;
                if (signals == 1 && WSTOPSIG(status) == (SIGTRAP | 0x80) && !is_for_memory(pid))
                        calls++;
        }
        end(pid);
        return calls; /* with a few that raise() makes */
}

static void an_empty_body(void) {}

static void a_default_create(void) {
        struct plan_device_rule rules[] = {
                { .allow = true,
                        .type = 2,
                        .has = PLAN_DEVICE_RULE_HAS_MAJOR | PLAN_DEVICE_RULE_HAS_MINOR,
                        .major = 1,
                        .minor = 3,
                        .access = 7 },
                { .allow = true, .access = 1 },
        };
        struct plan_cgroup cgroup = { .limit_devices = true, .devices = rules, .n_devices = 2 };
        struct error err;
        unsigned claim;
        int fd;

        if (cgroup_ours(path(""), &claim, &err) < 0 || cgroup_create(path(""), &cgroup, &claim, &fd, &err) < 0 ||
                cgroup_limit(fd, &cgroup, &err) < 0)
                _exit(1);
}

static void creation_makes_few_system_calls(void **state) {
        unsigned calls;
        char made[64];

        (void)state;
        calls = count_calls(a_default_create) - count_calls(an_empty_body);
        print_message("# %u system calls\n", calls);
        assert_in_range(calls, 5, 10);
        /* its name holds the pid of a child that is gone */
        for (pid_t pid = getpid(); pid < getpid() + 200; pid++) {
                snprintf(made, sizeof made, "/sys/fs/cgroup/sage-test.%d", pid);
                (void)rmdir(made);
        }
}

static void remove_one_with_a_dying_process(void) {
        struct error err;
        int fd;

        if (cgroup_create(path(""), &nothing, &(unsigned){ 0 }, &fd, &err) < 0)
                _exit(1);
        start_in(fd, 200);
        if (cgroup_remove(path(""), 1, &err) < 0)
                _exit(1);
}

static void removal_sleeps_while_it_waits(void **state) {
        unsigned calls = count_calls(remove_one_with_a_dying_process);

        (void)state;
        print_message("# %u system calls\n", calls);
        assert_in_range(calls, 8, 60);
}

int main(int argc, char **argv) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(creation_makes_few_system_calls),
                cmocka_unit_test(removal_sleeps_while_it_waits),
        };

        (void)argc;
        return RUN_CGROUP_TESTS(argv, tests);
}
