/* Does the kernel take our programs and do what they say? Every test runs in a child of its own. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "apply/seccomp.h"
#include "filter_profile.h"

#include <cmocka.h>

/* Loads RULES in a child, runs BODY there and returns the child's wait status. The listener goes to *RET_LISTENER where one is wanted. */
static int in_filter(const struct oci_seccomp *rules, int (*body)(void)) {
        struct arena arena = { 0 };
        struct filter_program program;
        struct error err;
        uint64_t flags;
        int status;
        pid_t pid;

        if (filter_build(&arena, rules, &program, &err) < 0 || filter_flags(rules, &flags, &err) < 0)
                fail_msg("%s: %s", err.where, err.text);
        pid = fork();
        if (pid == 0) {
                int listener;

                if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || filter_load(&program, flags, &listener, &err) < 0) {
                        fprintf(stderr, "%s: %s\n", err.where, err.text);
                        _exit(99);
                }
                _exit(listener == -1 ? body() : 98);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        arena_free(&arena);
        return status;
}

static bool fails_with(long r, int errnum) {
        return r == -1 && errno == errnum;
}

static int body_of_the_engine_default(void) {
        if (getppid() <= 0 || personality(0xffffffff) < 0)
                return 1;
        if (!fails_with(mount("x", "/nowhere", "tmpfs", 0, NULL), EPERM))
                return 2;
        if (!fails_with(personality(0x40000), EPERM))
                return 3;
        if (!fails_with(syscall(SYS_clone3, NULL, 0), ENOSYS))
                return 4;
        if (!fails_with(syscall(5000), ENOSYS))
                return 5;
        if (!fails_with(socket(40 /* AF_VSOCK */, SOCK_STREAM, 0), EPERM))
                return 6;
        return 0;
}

static void an_engines_default_profile_is_in_force(void **state) {
        (void)state;
        assert_int_equal(in_filter(engine_default(), body_of_the_engine_default), 0);
}

static int call_of_another_abi(void) {
        syscall(0x40000000 | SYS_getpid); /* x32 */
        return 1;
}

static void a_call_of_another_abi_ends_the_process(void **state) {
        (void)state;
#ifdef __x86_64__
        assert_int_equal(WTERMSIG(in_filter(engine_default(), call_of_another_abi)), SIGSYS);
#else
        (void)call_of_another_abi;
#endif
}

static int kill_me(void) {
        sync();
        return 1;
}

static void kill_ends_the_process(void **state) {
        struct oci_seccomp_rule rule = { .names = (const char *[]){ "sync" }, .n_names = 1, .action = ACT(KILL) };
        struct oci_seccomp rules = { .default_action = ACT(ALLOW), .syscalls = &rule, .n_syscalls = 1 };
        static enum oci_seccomp_flag flags[] = { OCI_SECCOMP_FLAG_SECCOMP_FILTER_FLAG_TSYNC, OCI_SECCOMP_FLAG_SECCOMP_FILTER_FLAG_LOG };

        (void)state;
        assert_int_equal(WTERMSIG(in_filter(&rules, kill_me)), SIGSYS);
        rules.flags = flags;
        rules.n_flags = ELEMENTSOF(flags);
        assert_int_equal(WTERMSIG(in_filter(&rules, kill_me)), SIGSYS);
}

static void a_listener_answers_calls(void **state) {
        struct oci_seccomp_rule rule = { .names = (const char *[]){ "sync" }, .n_names = 1, .action = ACT(NOTIFY) };
        struct oci_seccomp rules = { .default_action = ACT(ALLOW), .syscalls = &rule, .n_syscalls = 1, .listener_path = "/nowhere" };
        struct arena arena = { 0 };
        struct filter_program program;
        struct error err;
        uint64_t flags;
        pid_t pid;

        (void)state;
        assert_int_equal(filter_build(&arena, &rules, &program, &err), 0);
        assert_int_equal(filter_flags(&rules, &flags, &err), 0);
        pid = fork();
        if (pid == 0) {
                struct seccomp_notif request = { 0 };
                struct seccomp_notif_resp answer = { .error = -EDOM };
                int listener;

                prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
                if (filter_load(&program, flags, &listener, &err) < 0 || !(fcntl(listener, F_GETFD) & FD_CLOEXEC))
                        _exit(1);
                pid = fork();
                if (pid == 0)
                        _exit(syscall(SYS_sync) == -1 && errno == EDOM ? 0 : 2);
                if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &request) < 0)
                        _exit(3);
                answer.id = request.id;
                if (ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer) < 0)
                        _exit(4);
                int status;
                waitpid(pid, &status, 0);
                _exit(WEXITSTATUS(status));
        }
        int status;
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
        arena_free(&arena);
}

static void the_kernels_refusal_is_told(void **state) {
        struct sock_filter nonsense = { .code = 0xffff };
        struct filter_program program = { &nonsense, 1 };
        struct error err;
        int listener = 77;

        (void)state;
        assert_int_equal(filter_load(&program, 0, &listener, &err), -EINVAL);
        assert_int_equal(err.code, CODE_LAUNCH_FAILED);
        assert_string_equal(err.where, "linux.seccomp");
        assert_int_equal(listener, 77);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(an_engines_default_profile_is_in_force),
                cmocka_unit_test(a_call_of_another_abi_ends_the_process),
                cmocka_unit_test(kill_ends_the_process),
                cmocka_unit_test(a_listener_answers_calls),
                cmocka_unit_test(the_kernels_refusal_is_told),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
