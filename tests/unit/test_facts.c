#define _GNU_SOURCE
#include "hosts.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>

#include "base/file.h"

static bool is_cgroup2(void) {
        struct statfs fs;

        return statfs("/sys/fs/cgroup", &fs) == 0 && fs.f_type == CGROUP2_SUPER_MAGIC;
}

static void need(struct host *host, unsigned parts) {
        struct error err = { 0 };

        if (facts_need(host, parts, &err) < 0)
                print_error("%s: %s\n", err.where, err.text);
        assert_int_equal(err.code, 0);
}

static void this_process_is_described_as_it_is(void **state) {
        _cleanup_arena_ struct arena arena = { 0 };
        struct host host = { .arena = &arena };
        _cleanup_str_ struct str status = { 0 };
        const char *line;

        (void)state;
        need(&host, FACTS_IDENTITY | FACTS_KERNEL | FACTS_CGROUP);
        assert_int_equal(host.facts.identity->euid, geteuid());
        assert_int_equal(host.facts.identity->egid, getegid());
        assert_int_equal(file_read(AT_FDCWD, "/proc/self/status", 1 << 20, &status), 0);
        line = strstr(status.text, "CapEff:\t");
        assert_non_null(line);
        assert_int_equal(host.facts.identity->capabilities, strtoull(line + strlen("CapEff:\t"), NULL, 16));
        assert_true(host.facts.kernel->major >= 5 && host.facts.kernel->last_capability >= 40);
        assert_int_equal(host.facts.cgroup->version == FACTS_CGROUP_VERSION_V2, is_cgroup2());
        assert_int_equal(host.facts.cgroup->own[0], '/');
}

static void a_part_is_probed_once_and_only_when_asked_for(void **state) {
        _cleanup_arena_ struct arena arena = { 0 };
        struct host host = { .arena = &arena };
        const struct facts_identity *first;

        (void)state;
        need(&host, FACTS_IDENTITY);
        first = host.facts.identity;
        assert_null(host.facts.kernel);
        assert_null(host.facts.cgroup);
        need(&host, FACTS_CONTROLLERS);
        assert_ptr_equal(host.facts.identity, first);
        assert_non_null(host.facts.cgroup->controllers);
        assert_null(host.facts.trial);
}

static void what_is_printed_can_be_loaded_again(void **state) {
        _cleanup_arena_ struct arena arena = { 0 };
        struct host host = { .arena = &arena }, again = { .arena = &arena };
        _cleanup_str_ struct str first = { 0 }, second = { 0 };
        const char *path = arena_printf(&arena, "%s/host.json", (const char *)*state);
        struct error err = { 0 };

        need(&host, FACTS_ALL);
        assert_int_equal(facts_print(&host.facts, &first, &err), 0);
        put_file(path, first.text);
        assert_int_equal(facts_load(&again, path, &err), 0);
        assert_true(again.recorded);
        need(&again, FACTS_ALL);
        assert_int_equal(facts_print(&again.facts, &second, &err), 0);
        assert_string_equal(first.text, second.text);
}

static void a_recorded_host_is_never_probed(void **state) {
        _cleanup_arena_ struct arena arena = { 0 };
        struct error err = { 0 };
        struct host host;

        (void)state;
        load_host(&arena, "debian-root", &host);
        host.facts.userns = NULL;
        assert_int_equal(facts_need(&host, FACTS_IDENTITY | FACTS_CGROUP, &err), 0);
        assert_int_equal(facts_need(&host, FACTS_IDENTITY | FACTS_USERNS, &err), -ENODATA);
        assert_string_equal(err.where, "userns");
        assert_null(host.facts.userns);
}

static void a_recorded_host_with_an_unknown_member_is_refused(void **state) {
        _cleanup_arena_ struct arena arena = { 0 };
        struct host host = { .arena = &arena };
        const char *path = arena_printf(&arena, "%s/host.json", (const char *)*state), *text = "{\"identity\":{\"uid\":0}}";
        struct error err = { 0 };

        put_file(path, text);
        assert_int_equal(facts_load(&host, path, &err), -EINVAL);
        assert_string_equal(err.where, "identity.uid");
        assert_false(host.recorded);
        assert_int_equal(facts_load(&host, "/nonexistent/host.json", &err), -ENOENT);
}

/* AddressSanitizer makes system calls of its own, and other machines keep the call's number elsewhere. */
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__)
#define CALLS_CAN_BE_COUNTED

/* Counts the system calls that a child makes between two getppid(2), which nothing else here calls. */
static int count_calls(void (*work)(void *), void *data) {
        int status, calls = 0, seen = 0;
        pid_t child = fork();

        if (child == 0) {
                ptrace(PTRACE_TRACEME, 0, NULL, NULL);
                raise(SIGSTOP);
                (void)getppid();
                work(data);
                (void)getppid();
                _exit(0);
        }
        waitpid(child, &status, 0);
        for (;;) {
                long number;

                ptrace(PTRACE_SYSCALL, child, NULL, NULL);
                if (waitpid(child, &status, 0) < 0 || !WIFSTOPPED(status))
                        return seen == 4 ? calls / 2 : -1;
                number = ptrace(PTRACE_PEEKUSER, child, (void *)(15 * sizeof(long)), NULL); /* orig_rax */
                if (number == 110)
                        seen++;
                else if (seen == 2)
                        calls++;
        }
}

static void probe_for_launch(void *data) {
        struct error err;

        facts_need(data, FACTS_IDENTITY | FACTS_CGROUP, &err);
}

/* One more in a hybrid layout, where the second statfs(2) finds the other hierarchy; one more for a user, whose rights are asked. */
static void what_a_launch_asks_for_costs_six_system_calls(void **state) {
        _cleanup_arena_ struct arena arena = { 0 };
        struct host host = { .arena = &arena };
        int calls;

        (void)state;
        arena_alloc(&arena, 1); /* the block that all of it fits into */
        calls = count_calls(probe_for_launch, &host);
        assert_true(calls >= 0);
        need(&host, FACTS_IDENTITY | FACTS_CGROUP);
        if (host.facts.cgroup->version == FACTS_CGROUP_VERSION_V2 && geteuid() == 0)
                assert_in_range(calls, 1, 6);
        else
                assert_in_range(calls, 1, 10);
}
#endif

static void read_whole(const char *path, struct str *out) {
        assert_int_equal(file_read(AT_FDCWD, path, 16 << 20, out), 0);
}

static void a_trial_leaves_neither_mount_nor_process(void **state) {
        _cleanup_arena_ struct arena arena = { 0 };
        struct host host = { .arena = &arena };
        _cleanup_str_ struct str before = { 0 }, after = { 0 };

        (void)state;
        read_whole("/proc/self/mountinfo", &before);
        need(&host, FACTS_TRIAL);
        read_whole("/proc/self/mountinfo", &after);
        assert_string_equal(before.text, after.text);
        assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
        assert_int_equal(errno, ECHILD);
        assert_int_equal(!!(host.facts.trial->has & FACTS_TRIAL_HAS_FAILED), host.facts.trial->failed != 0);
}

/* Runs JUDGE in a child with mounts of its own and cgroup2 where a host has it; skips where that cannot be made. */
static void in_cgroup2_view(int (*judge)(void)) {
        int status;
        pid_t child = fork();

        if (child == 0) {
                if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
                        (!is_cgroup2() && mount("cgroup2", "/sys/fs/cgroup", "cgroup2", 0, NULL) < 0))
                        _exit(77);
                _exit(judge());
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        if (WEXITSTATUS(status) == 77)
                skip();
        assert_int_equal(WEXITSTATUS(status), 0);
}

static int judge_version_and_read_only(void) {
        _cleanup_arena_ struct arena arena = { 0 };
        struct host host = { .arena = &arena };
        struct error err;

        if (facts_need(&host, FACTS_CONTROLLERS, &err) < 0)
                return 1;
        if (host.facts.cgroup->version != FACTS_CGROUP_VERSION_V2 || !host.facts.cgroup->writable || !streq(host.facts.cgroup->root, "/"))
                return 2;
        if (mount(NULL, "/sys/fs/cgroup", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL) < 0)
                return 77;
        host.facts = (struct facts_facts){ 0 };
        if (facts_need(&host, FACTS_CONTROLLERS, &err) < 0)
                return 3;
        return host.facts.cgroup->version == FACTS_CGROUP_VERSION_V2 && !host.facts.cgroup->writable && !host.facts.cgroup->root ? 0 : 4;
}

static void cgroup2_is_recognised_and_of_no_use_when_read_only(void **state) {
        (void)state;
        in_cgroup2_view(judge_version_and_read_only);
}

#define DELEGATED "/sys/fs/cgroup/sage-unit-delegated"

/* As uid 1000 in DELEGATED/leaf, of which everything from DELEGATED down is ours. */
static int judge_as_user(void) {
        _cleanup_arena_ struct arena arena = { 0 };
        struct host host = { .arena = &arena };
        struct error err;

        if (file_write(AT_FDCWD, DELEGATED "/leaf/cgroup.procs", "0", 1) < 0 || setresgid(1000, 1000, 1000) < 0 ||
                setresuid(1000, 1000, 1000) < 0)
                return 77;
        if (facts_need(&host, FACTS_CONTROLLERS, &err) < 0)
                return 1;
        if (!streq(host.facts.cgroup->own, "/sage-unit-delegated/leaf") || !host.facts.cgroup->writable)
                return 2;
        return host.facts.cgroup->root && streq(host.facts.cgroup->root, "/sage-unit-delegated") ? 0 : 3;
}

static int judge_delegation(void) {
        static const char *const delegated[] = {
                DELEGATED, DELEGATED "/cgroup.procs", DELEGATED "/leaf", DELEGATED "/leaf/cgroup.procs",
        };
        int status = 77 << 8;
        pid_t child;

        if (mkdir(DELEGATED, 0755) < 0)
                return 77;
        if (mkdir(DELEGATED "/leaf", 0755) == 0) {
                for (size_t i = 0; i < ELEMENTSOF(delegated); i++)
                        if (chown(delegated[i], 1000, 1000) < 0)
                                status = 4 << 8;
                child = fork();
                if (child == 0)
                        _exit(judge_as_user());
                waitpid(child, &status, 0);
                rmdir(DELEGATED "/leaf");
        }
        rmdir(DELEGATED);
        return WEXITSTATUS(status);
}

static void the_delegated_cgroup_is_the_topmost_that_we_may_write(void **state) {
        (void)state;
        if (geteuid() != 0)
                skip();
        in_cgroup2_view(judge_delegation);
}

/* In a child with mounts of its own; 77: it cannot make them here. */
static int judge_proc_covered_at(const char *point) {
        _cleanup_arena_ struct arena arena = { 0 };
        struct host host = { .arena = &arena };
        struct error err;
        bool refused;

        if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
                return 77;
        if (facts_need(&host, FACTS_PROC | FACTS_TRIAL, &err) < 0 || !host.facts.proc->visible || host.facts.trial->has)
                return 77;
        if (mount("cover", point, "tmpfs", 0, NULL) < 0)
                return 77;
        host.facts = (struct facts_facts){ 0 };
        if (facts_need(&host, FACTS_PROC | FACTS_TRIAL, &err) < 0)
                return 1;
        refused = (host.facts.trial->has & FACTS_TRIAL_HAS_FAILED) && host.facts.trial->failed == FACTS_TRIAL_STEP_PROC;
        if (refused == host.facts.proc->visible)
                return 2;
        return refused ? 3 : 0;
}

/* What mountinfo told and what the kernel did agree, for a mount that hides something and for one that hides nothing. */
static void a_covered_proc_is_seen_and_is_what_the_kernel_refuses(void **state) {
        static const struct { const char *point; int result; } covers[] = { { "/proc/tty", 3 }, { "/proc/sys/fs/binfmt_misc", 0 } };

        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(covers); i++) {
                int status;
                pid_t child = fork();

                if (child == 0)
                        _exit(judge_proc_covered_at(covers[i].point));
                assert_int_equal(waitpid(child, &status, 0), child);
                assert_true(WIFEXITED(status));
                if (WEXITSTATUS(status) == 77)
                        skip();
                assert_int_equal(WEXITSTATUS(status), covers[i].result);
        }
}

/* Where one user namespace more is forbidden, in a namespace that can be told so without touching the host. */
static void a_forbidden_user_namespace_is_found_by_trial(void **state) {
        _cleanup_arena_ struct arena arena = { 0 };
        struct host host = { .arena = &arena };
        int status;
        pid_t child = fork();

        (void)state;
        if (child == 0) {
                struct error err;

                if (unshare(CLONE_NEWUSER) < 0 || file_write(AT_FDCWD, "/proc/sys/user/max_user_namespaces", "0", 1) < 0)
                        _exit(77);
                if (facts_need(&host, FACTS_TRIAL | FACTS_USERNS, &err) < 0)
                        _exit(1);
                _exit(host.facts.trial->failed == FACTS_TRIAL_STEP_CLONE && host.facts.trial->errnum == ENOSPC &&
                                        !host.facts.userns->possible
                                ? 0
                                : 2);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
                skip();
        assert_int_equal(status, 0);
}

static void a_user_namespace_is_not_taken_for_the_initial_one(void **state) {
        _cleanup_arena_ struct arena arena = { 0 };
        struct host host = { .arena = &arena };
        int status;
        pid_t child = fork();

        (void)state;
        if (child == 0) {
                struct error err;

                if (unshare(CLONE_NEWUSER) < 0)
                        _exit(77);
                if (facts_need(&host, FACTS_IDENTITY, &err) < 0)
                        _exit(1);
                _exit(host.facts.identity->initial_userns || facts_capable(host.facts.identity, 21));
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
                skip();
        assert_int_equal(status, 0);
}

static void a_policy_that_others_may_write_is_not_trusted(void **state) {
        static const struct { mode_t directory, file; bool trusted; } cases[] = {
                { 0755, 0644, true }, { 0755, 0600, true }, { 0755, 0664, false }, { 0755, 0646, false }, { 0777, 0644, false },
        };
        _cleanup_arena_ struct arena arena = { 0 };
        const char *path = arena_printf(&arena, "%s/host.json", (const char *)*state);

        if (geteuid() != 0)
                skip();
        put_file(path, "{}");
        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                struct host host = { .arena = &arena, .policy_path = path };

                assert_int_equal(chmod(*state, cases[i].directory), 0);
                assert_int_equal(chmod(path, cases[i].file), 0);
                need(&host, FACTS_POLICY);
                assert_true(host.facts.policy->present);
                assert_int_equal(host.facts.policy->trusted, cases[i].trusted);
        }
        assert_int_equal(chmod(*state, 0755), 0);
        assert_int_equal(chmod(path, 0644), 0);
        assert_int_equal(chown(path, 1000, 0), 0);
        struct host host = { .arena = &arena, .policy_path = path };
        need(&host, FACTS_POLICY);
        assert_false(host.facts.policy->trusted);
}

static void a_policy_that_is_absent_or_a_symlink_is_told_as_that(void **state) {
        _cleanup_arena_ struct arena arena = { 0 };
        const char *path = arena_printf(&arena, "%s/host.json", (const char *)*state);
        struct host absent = { .arena = &arena, .policy_path = path }, link = { .arena = &arena, .policy_path = path };

        need(&absent, FACTS_POLICY);
        assert_false(absent.facts.policy->present);
        assert_int_equal(symlink("/etc/passwd", path), 0);
        need(&link, FACTS_POLICY);
        assert_true(link.facts.policy->present);
        assert_false(link.facts.policy->trusted);
}

static void a_mount_that_is_not_xfs_or_not_there_is_told_as_that(void **state) {
        _cleanup_arena_ struct arena arena = { 0 };
        struct host proc = { .arena = &arena, .quota_mount = "/proc" }, absent = { .arena = &arena, .quota_mount = "/nonexistent" };

        (void)state;
        need(&proc, FACTS_QUOTA);
        assert_int_equal(proc.facts.n_quotas, 1);
        assert_false(proc.facts.quotas[0].xfs);
        assert_false(proc.facts.quotas[0].has & FACTS_QUOTA_HAS_ERRNUM);
        need(&absent, FACTS_QUOTA);
        assert_int_equal(absent.facts.quotas[0].errnum, ENOENT);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(this_process_is_described_as_it_is),
                cmocka_unit_test(a_part_is_probed_once_and_only_when_asked_for),
                cmocka_unit_test_setup_teardown(what_is_printed_can_be_loaded_again, make_directory, remove_directory),
                cmocka_unit_test(a_recorded_host_is_never_probed),
                cmocka_unit_test_setup_teardown(a_recorded_host_with_an_unknown_member_is_refused, make_directory, remove_directory),
#ifdef CALLS_CAN_BE_COUNTED
                cmocka_unit_test(what_a_launch_asks_for_costs_six_system_calls),
#endif
                cmocka_unit_test(a_trial_leaves_neither_mount_nor_process),
                cmocka_unit_test(cgroup2_is_recognised_and_of_no_use_when_read_only),
                cmocka_unit_test(the_delegated_cgroup_is_the_topmost_that_we_may_write),
                cmocka_unit_test(a_covered_proc_is_seen_and_is_what_the_kernel_refuses),
                cmocka_unit_test(a_forbidden_user_namespace_is_found_by_trial),
                cmocka_unit_test(a_user_namespace_is_not_taken_for_the_initial_one),
                cmocka_unit_test_setup_teardown(a_policy_that_others_may_write_is_not_trusted, make_directory, remove_directory),
                cmocka_unit_test_setup_teardown(a_policy_that_is_absent_or_a_symlink_is_told_as_that, make_directory, remove_directory),
                cmocka_unit_test(a_mount_that_is_not_xfs_or_not_there_is_told_as_that),
        };

        return RUN_TESTS(tests);
}
