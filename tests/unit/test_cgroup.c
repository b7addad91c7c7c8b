/* Making, limiting, killing and removing cgroups. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "apply/cgroup.h"
#include "apply/cgroup_file.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/process.h"
#include "base/str.h"
#include "base/time.h"
#include "cgroup_view.h"

#include <cmocka.h>

static struct plan_cgroup nothing; /* no controllers, no limits */

/* A path below the hierarchy that no other run of the tests has. */
static const char *path(const char *below) {
        static char text[4][512];
        static unsigned next;
        char *at = text[next++ % 4];

        snprintf(at, sizeof text[0], "/sys/fs/cgroup/sage-test.%d%s", getpid(), below);
        return at;
}

static bool exists(const char *at) {
        return access(at, F_OK) == 0;
}

static int create(const char *at, const struct plan_cgroup *cgroup) {
        struct error err;
        unsigned ours = 0;
        int fd = -1, r = cgroup_create(at, cgroup, &ours, &fd, &err);

        if (r < 0)
                fail_msg("%s: %s", err.where, err.text);
        assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
        return fd;
}

static void remove_all(const char *at, unsigned ours) {
        struct error err;

        if (cgroup_remove(at, ours, &err) < 0)
                fail_msg("%s: %s", err.where, err.text);
}

static unsigned ours(const char *at) {
        struct error err;
        unsigned n = 77;

        assert_int_equal(cgroup_ours(at, &n, &err), 0);
        return n;
}

/* A process in the cgroup that ends after MS milliseconds, or lives until it is killed. */
static pid_t start_in(int fd, int ms) {
        int pidfd;
        pid_t pid = process_clone(0, fd, &pidfd);

        if (pid == 0) {
                if (ms < 0)
                        pause();
                usleep((unsigned)ms * 1000);
                _exit(0);
        }
        assert_true(pid > 0);
        close(pidfd);
        return pid;
}

static void end(pid_t pid) {
        kill(pid, SIGKILL);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* ---- making -------------------------------------------------------------------------------------------------------------- */

static void missing_components_are_ours(void **state) {
        int fd;

        (void)state;
        assert_int_equal(ours(path("/a/b/c")), 4);
        fd = create(path("/a"), &nothing);
        close(fd);
        assert_int_equal(ours(path("/a/b/c")), 2);
        assert_int_equal(ours(path("/a")), 0);
        remove_all(path("/a"), 2);
        assert_false(exists(path("")));
}

static void a_new_cgroup_takes_a_process_and_goes_with_its_parents(void **state) {
        bool populated = false;
        struct error err;
        pid_t pid;
        int fd;

        (void)state;
        fd = create(path("/a/b/c"), &nothing);
        pid = start_in(fd, -1);
        assert_int_equal(cgroup_populated(fd, &populated, &err), 0);
        assert_true(populated);
        end(pid);
        assert_int_equal(cgroup_populated(fd, &populated, &err), 0);
        assert_false(populated);
        close(fd);
        remove_all(path("/a/b/c"), 4);
        assert_false(exists(path("")));
}

static void an_empty_cgroup_of_somebody_else_is_used_and_left(void **state) {
        int fd;

        (void)state;
        assert_int_equal(mkdir(path(""), 0755), 0);
        fd = create(path(""), &nothing);
        close(fd);
        remove_all(path(""), 0);
        assert_true(exists(path("")));
        assert_int_equal(rmdir(path("")), 0);
}

static void assert_not_used(const char *at) {
        struct error err;
        int fd = 77;

        assert_int_equal(cgroup_create(at, &nothing, &(unsigned){ 0 }, &fd, &err), -EBUSY);
        assert_int_equal(err.code, CODE_BUSY);
        assert_string_equal(err.where, at);
        assert_int_equal(fd, 77);
}

static void a_cgroup_that_others_use_is_refused(void **state) {
        _cleanup_close_ int fd = -1;
        pid_t pid;

        (void)state;
        fd = create(path("/x"), &nothing);
        pid = start_in(fd, -1);
        assert_not_used(path("/x"));
        assert_not_used(path("")); /* by its child */
        end(pid);
        assert_int_equal(file_write(fd, "cgroup.freeze", "1", 1), 0);
        assert_not_used(path("/x"));
        assert_int_equal(file_write(fd, "cgroup.freeze", "0", 1), 0);
        assert_int_equal(file_write(fd, "cgroup.type", "threaded", 8), 0);
        assert_not_used(path("/x"));
        remove_all(path("/x"), 2);
}

static void a_place_for_no_cgroup_is_an_error(void **state) {
        struct error err;
        unsigned n;
        int fd;

        (void)state;
        assert_true(cgroup_create("/sys/fs/cgroup/cgroup.procs/x", &nothing, &(unsigned){ 0 }, &fd, &err) < 0);
        assert_int_equal(err.code, CODE_LAUNCH_FAILED);
        assert_true(cgroup_ours("/sys/fs/cgroup/cgroup.procs/x", &n, &err) < 0);
}

static bool has_controller(const char *name) {
        char text[CGROUP_FILE_SIZE] = "";
        _cleanup_close_ int fd = open("/sys/fs/cgroup", O_PATH | O_DIRECTORY | O_CLOEXEC);

        return cgroup_file_read(fd, "cgroup.controllers", text) == 0 && cgroup_has_word(text, name);
}

static void a_controller_that_is_missing_names_the_field(void **state) {
        const char *names[] = { "nonsense" }, *wanted[] = { "nonsense", "pids" };
        struct plan_cgroup_write write = { .field = "linux.resources.unified", .file = "nonsense.max", .value = "1" };
        struct plan_cgroup cgroup = { .controllers = names, .n_controllers = 1, .writes = &write, .n_writes = 1 };
        struct error err;
        int fd = 77;

        (void)state;
        assert_int_equal(cgroup_create(path("/a"), &cgroup, &(unsigned){ 0 }, &fd, &err), -EOPNOTSUPP);
        assert_int_equal(err.code, CODE_RESOURCE_LIMITS_UNSUPPORTED);
        assert_string_equal(err.where, "linux.resources.unified");
        assert_int_equal(fd, 77);
        remove_all(path("/a"), 2);
        assert_false(exists(path("")));

        cgroup = (struct plan_cgroup){ .accounting = wanted, .n_accounting = 2 };
        fd = create(path("/a"), &cgroup);
        close(fd);
        remove_all(path("/a"), 2);
}

static void controllers_are_enabled_on_the_way_down(void **state) {
        const char *names[] = { "pids" };
        struct plan_cgroup_write write = { .field = "linux.resources.pids.limit", .file = "pids.max", .value = "7" };
        struct plan_cgroup cgroup = { .controllers = names, .n_controllers = 1, .writes = &write, .n_writes = 1 };
        char text[CGROUP_FILE_SIZE];
        struct error err;
        int fd;

        (void)state;
        if (!has_controller("pids")) {
                print_message("# no pids controller here\n");
                return;
        }
        fd = create(path("/a/b"), &cgroup);
        assert_int_equal(cgroup_limit(fd, &cgroup, &err), 0);
        assert_int_equal(cgroup_file_read(fd, "pids.max", text), 0);
        assert_string_equal(text, "7\n");
        close(fd);
        remove_all(path("/a/b"), 3);
}

/* ---- limits -------------------------------------------------------------------------------------------------------------- */

static void limits_are_written_in_order(void **state) {
        struct plan_cgroup_write writes[] = {
                { .field = "f[0]", .file = "cgroup.max.depth", .value = "5" },
                { .field = "f[1]", .file = "cgroup.max.depth", .value = "3" },
                { .field = "f[2]", .file = "not.there", .value = "1", .optional = true },
                { .field = "f[3]", .file = "not.there", .value = "1", .else_file = "cgroup.max.descendants", .else_value = "max" },
        };
        struct plan_cgroup cgroup = { .writes = writes, .n_writes = ELEMENTSOF(writes) };
        char text[CGROUP_FILE_SIZE];
        struct error err;
        int fd;

        (void)state;
        fd = create(path(""), &nothing);
        if (cgroup_limit(fd, &cgroup, &err) < 0)
                fail_msg("%s: %s", err.where, err.text);
        assert_int_equal(cgroup_file_read(fd, "cgroup.max.depth", text), 0);
        assert_string_equal(text, "3\n");
        close(fd);
        remove_all(path(""), 1);
}

static void assert_limit_fails(int fd, const char *file, const char *value, enum code code) {
        struct plan_cgroup_write write = { .field = "linux.resources.unified", .file = file, .value = value };
        struct plan_cgroup cgroup = { .writes = &write, .n_writes = 1 };
        struct error err = { 0 };

        assert_true(cgroup_limit(fd, &cgroup, &err) < 0);
        assert_int_equal(err.code, code);
        assert_string_equal(err.where, "linux.resources.unified");
}

static void a_limit_that_cannot_be_set_leaves_nothing_behind(void **state) {
        unsigned claim;
        int fd;

        (void)state;
        claim = ours(path("/a/b"));
        fd = create(path("/a/b"), &nothing);
        assert_limit_fails(fd, "bogus.max", "1", CODE_RESOURCE_LIMITS_UNSUPPORTED);
        assert_limit_fails(fd, "cgroup.max.depth", "many", CODE_CONFIG_INVALID);
        assert_limit_fails(fd, "../cgroup.max.depth", "1", CODE_CONFIG_INVALID);
        close(fd);
        remove_all(path("/a/b"), claim);
        assert_false(exists(path("")));
}

/* A directory of ordinary files stands for a kernel that keeps something else than was written. */
static void a_number_that_was_not_kept_is_told(void **state) {
        char name[] = "/tmp/sage-unit.XXXXXX";
        _cleanup_close_ int fd = -1, file = -1;

        (void)state;
        assert_non_null(mkdtemp(name));
        fd = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        file = openat(fd, "pids.max", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        assert_int_equal(write(file, "9999\n", 5), 5);
        assert_limit_fails(fd, "pids.max", "5", CODE_RESOURCE_LIMITS_UNSUPPORTED); /* now it says 5999 */
        close_fd(&file);
        file = openat(fd, "cpu.max", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        assert_int_equal(write(file, "max 1000000\n", 12), 12);
        assert_limit_fails(fd, "cpu.max", "max 20", CODE_RESOURCE_LIMITS_UNSUPPORTED);
        unlinkat(fd, "pids.max", 0);
        unlinkat(fd, "cpu.max", 0);
        assert_int_equal(rmdir(name), 0);
}

/* ---- the end ------------------------------------------------------------------------------------------------------------- */

static void kill_reaches_frozen_and_nested_processes(void **state) {
        _cleanup_close_ int top = -1, below = -1;
        struct error err;
        pid_t one, two;
        int status;

        (void)state;
        top = create(path("/t"), &nothing);
        below = create(path("/t/a/b"), &nothing);
        one = start_in(top, -1);
        two = start_in(below, -1);
        assert_int_equal(file_write(top, "cgroup.freeze", "1", 1), 0);
        assert_int_equal(cgroup_kill(top, &err), 0);
        assert_int_equal(waitpid(one, &status, 0), one);
        assert_int_equal(WTERMSIG(status), SIGKILL);
        assert_int_equal(waitpid(two, &status, 0), two);
        remove_all(path("/t"), 2);
        assert_int_equal(cgroup_kill(below, &err), 0); /* gone: killed */
        assert_false(exists(path("")));
}

static void what_is_gone_already_is_removed(void **state) {
        bool populated = true;
        struct error err;
        int fd;

        (void)state;
        remove_all(path("/a/b"), 3);
        fd = create(path("/a/b"), &nothing);
        assert_int_equal(rmdir(path("/a/b")), 0);
        assert_int_equal(cgroup_populated(fd, &populated, &err), 0);
        assert_false(populated);
        close(fd);
        remove_all(path("/a/b"), 3); /* the parents are still there */
        assert_false(exists(path("")));
}

static void removal_waits_for_the_dying(void **state) {
        uint64_t start;
        pid_t pid;
        int fd;

        (void)state;
        fd = create(path("/a/b"), &nothing);
        pid = start_in(fd, 150);
        close(fd);
        start = time_monotonic_us();
        remove_all(path("/a"), 2);
        assert_in_range(time_monotonic_us() - start, 50000, 1500000);
        end(pid); /* still a zombie: that does not hold a cgroup */
        assert_false(exists(path("")));
}

static void removal_gives_up_on_the_living(void **state) {
        struct error err;
        uint64_t start;
        pid_t pid;
        int fd;

        (void)state;
        fd = create(path("/a/b/c"), &nothing);
        pid = start_in(fd, -1);
        close(fd);
        start = time_monotonic_us();
        assert_int_equal(cgroup_remove(path("/a"), 2, &err), -EBUSY);
        assert_in_range(time_monotonic_us() - start, 1900000, 4000000);
        assert_int_equal(err.code, CODE_RELEASE_FAILED);
        assert_string_equal(err.where, path("/a"));
        end(pid);
        remove_all(path("/a"), 2);
}

static void a_parent_that_others_moved_into_is_theirs(void **state) {
        int fd;

        (void)state;
        fd = create(path("/a"), &nothing);
        close(fd);
        assert_int_equal(mkdir(path("/b"), 0755), 0);
        remove_all(path("/a"), 2);
        assert_false(exists(path("/a")));
        assert_true(exists(path("/b")));
        remove_all(path("/b"), 2);
        assert_false(exists(path("")));
}

/* A payload may do this with its own cgroup file system. */
static void deep_and_wide_trees_are_removed(void **state) {
        struct rlimit before, few = { 16, 16 };
        int fd, next;

        (void)state;
        fd = create(path("/a"), &nothing);
        for (int i = 0; i < 100; i++) {
                char name[32];

                snprintf(name, sizeof name, "wide%d", i);
                assert_int_equal(mkdirat(fd, name, 0755), 0);
        }
        for (int i = 0; i < 600; i++) {
                assert_int_equal(mkdirat(fd, "deep", 0755), 0);
                assert_true((next = openat(fd, "deep", O_PATH | O_DIRECTORY | O_CLOEXEC)) >= 0);
                close(fd);
                fd = next;
        }
        close(fd);
        getrlimit(RLIMIT_NOFILE, &before);
        few.rlim_max = before.rlim_max;
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
        remove_all(path("/a"), 2);
        setrlimit(RLIMIT_NOFILE, &before);
        assert_false(exists(path("")));
}

static void containers_of_one_parent_come_and_go(void **state) {
        char name[2][512], parent[256];
        pid_t pids[2];

        (void)state;
        snprintf(parent, sizeof parent, "%s", path(""));
        for (int i = 0; i < 2; i++) {
                snprintf(name[i], sizeof name[i], "%s/p/c%d", parent, i);
                if ((pids[i] = fork()) == 0) {
                        for (int round = 0; round < 150; round++) {
                                struct error err;
                                unsigned claim;
                                int fd;

                                if (cgroup_ours(name[i], &claim, &err) < 0 || cgroup_create(name[i], &nothing, &claim, &fd, &err) < 0 ||
                                    cgroup_remove(name[i], claim, &err) < 0) {
                                        fprintf(stderr, "# %s: %s\n", err.where, err.text);
                                        _exit(1);
                                }
                                close(fd);
                        }
                        _exit(0);
                }
        }
        for (int i = 0; i < 2; i++) {
                int status;

                assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
                assert_int_equal(status, 0);
                assert_false(exists(name[i]));
        }
        (void)rmdir(path("/p")); /* the one who made it may have left it to the other, who then had no claim on it */
        (void)rmdir(parent);
        assert_false(exists(parent));
}

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

static void an_empty_body(void) {
}

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
                cmocka_unit_test(missing_components_are_ours),
                cmocka_unit_test(a_new_cgroup_takes_a_process_and_goes_with_its_parents),
                cmocka_unit_test(an_empty_cgroup_of_somebody_else_is_used_and_left),
                cmocka_unit_test(a_cgroup_that_others_use_is_refused),
                cmocka_unit_test(a_place_for_no_cgroup_is_an_error),
                cmocka_unit_test(a_controller_that_is_missing_names_the_field),
                cmocka_unit_test(controllers_are_enabled_on_the_way_down),
                cmocka_unit_test(limits_are_written_in_order),
                cmocka_unit_test(a_limit_that_cannot_be_set_leaves_nothing_behind),
                cmocka_unit_test(a_number_that_was_not_kept_is_told),
                cmocka_unit_test(kill_reaches_frozen_and_nested_processes),
                cmocka_unit_test(what_is_gone_already_is_removed),
                cmocka_unit_test(removal_waits_for_the_dying),
                cmocka_unit_test(removal_gives_up_on_the_living),
                cmocka_unit_test(a_parent_that_others_moved_into_is_theirs),
                cmocka_unit_test(deep_and_wide_trees_are_removed),
                cmocka_unit_test(containers_of_one_parent_come_and_go),
                cmocka_unit_test(creation_makes_few_system_calls),
                cmocka_unit_test(removal_sleeps_while_it_waits),
        };

        (void)argc;
        enter_cgroup_view(argv);
        if (!have_cgroups()) {
                puts("1..0 # SKIP no cgroup2 hierarchy that may be written to");
                return 0;
        }
        return cmocka_run_group_tests(tests, NULL, NULL);
}
