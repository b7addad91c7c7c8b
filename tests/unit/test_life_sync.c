#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/process.h"
#include "life/dialogue.h"

/* Runs CHILD with its end of a new pair and returns ours. */
static int talk_with(void (*child)(int socket), int *ret_pidfd) {
        struct sync sync;
        struct error err;
        pid_t pid;

        assert_int_equal(sync_open(&sync, &err), 0);
        pid = process_clone(0, -1, ret_pidfd);
        if (pid == 0) {
                close(sync.runtime);
                child(sync.child);
                _exit(0);
        }
        close(sync.child);
        return sync.runtime;
}

static void reports_a_failure(int socket) {
        struct error err;

        fail(&err, CODE_CONFIG_INVALID, ENOENT, "process.cwd", "no such %s", "place");
        sync_report_error(socket, &err);
}

static void an_error_crosses_as_it_is(void **state) {
        _cleanup_close_ int pidfd = -1;
        struct dialogue d = { .socket = talk_with(reports_a_failure, &pidfd), .console = -1 };
        struct error err;
        int status;
        (void)state;

        assert_int_equal(dialogue_until(&d, REPORT_READY, &err), -ENOENT);
        assert_int_equal(err.code, CODE_CONFIG_INVALID);
        assert_string_equal(err.where, "process.cwd");
        assert_string_equal(err.text, "no such place");
        process_reap(pidfd, &status);
        close(d.socket);
}

/* The token that nobody read resets the socket behind the error. */
static void an_error_is_heard_although_a_token_was_left_unread(void **state) {
        struct sync sync;
        struct error err;
        struct dialogue d;
        (void)state;

        assert_int_equal(sync_open(&sync, &err), 0);
        assert_int_equal(sync_tell(sync.runtime, TOKEN_GO, 0, &err), 0);
        reports_a_failure(sync.child);
        close(sync.child);
        d = (struct dialogue){ .socket = sync.runtime, .console = -1 };
        assert_int_equal(dialogue_until(&d, REPORT_READY, &err), -ENOENT);
        assert_string_equal(err.text, "no such place");
        close(sync.runtime);
}

/* It would wait for the token for ever, and the runtime for what comes after. */
static void a_token_that_cannot_be_sent_is_an_error_but_to_a_child_that_is_gone(void **state) {
        struct sync sync;
        struct error err;
        (void)state;

        assert_int_equal(sync_open(&sync, &err), 0);
        close(sync.child);
        assert_int_equal(sync_tell(sync.runtime, TOKEN_GO, 0, &err), 0);
        close(sync.runtime);
        assert_int_equal(sync_tell(sync.runtime, TOKEN_GO, 0, &err), -EBADF);
}

static void hands_over_a_console_and_executes(int socket) {
        int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

        sync_report(socket, REPORT_CONSOLE, fd);
        sync_report(socket, REPORT_READY, -1);
        sync_await(socket, TOKEN_GO);
        sync_report(socket, REPORT_EXEC, -1);
}

static void end_of_file_behind_exec_means_that_the_program_runs(void **state) {
        _cleanup_close_ int pidfd = -1;
        struct dialogue d = { .socket = talk_with(hands_over_a_console_and_executes, &pidfd), .console = -1 };
        struct error err;
        int status;
        (void)state;

        assert_int_equal(dialogue_until(&d, REPORT_READY, &err), 0);
        assert_true(d.console >= 0);
        assert_true(fcntl(d.console, F_GETFD) & FD_CLOEXEC);
        assert_int_equal(sync_tell(d.socket, TOKEN_GO, 0, &err), 0);
        assert_int_equal(dialogue_until(&d, REPORT_GONE, &err), 0);
        process_reap(pidfd, &status);
        close(d.console);
        close(d.socket);
}

/* What stands for the child by then may be a process of the container's, which says what it likes. */
static void an_error_from_nobody_knows_whom_is_one_that_can_be_told(void **state) {
        struct { int32_t report, why_not; struct error error; } message = { .report = REPORT_ERROR };
        struct sync sync;
        struct error err;
        struct dialogue d;
        (void)state;

        for (int i = 0; i < 2; i++) {
                memset(&message.error, i ? 0xff : 0x1b, sizeof message.error);
                message.error.errnum = i ? INT32_MIN : -5;
                assert_int_equal(sync_open(&sync, &err), 0);
                assert_int_equal(write(sync.child, &message, sizeof message), sizeof message);
                d = (struct dialogue){ .socket = sync.runtime, .console = -1 };
                assert_int_equal(dialogue_until(&d, REPORT_READY, &err), -EIO);
                assert_int_equal(err.code, CODE_INTERNAL);
                assert_true(err.effect <= EFFECT_UNKNOWN);
                assert_true(strnlen(err.where, sizeof err.where) < sizeof err.where);
                assert_true(strnlen(err.text, sizeof err.text) < sizeof err.text);
                assert_null(strchr(err.text, 0x1b));
                sync_close(&sync);
        }
}

static void no_descriptor_but_the_first_stays_of_a_message_with_many(void **state) {
        union { char space[CMSG_SPACE(5 * sizeof(int))]; struct cmsghdr align; } control = { 0 };
        const int32_t message[2] = { REPORT_READY, 0 }, sent[5] = { 0, 0, 0, 0, 0 };
        struct iovec iov = { (void *)(uintptr_t)message, sizeof message };
        struct msghdr header = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control };
        struct cmsghdr *rights = CMSG_FIRSTHDR(&header);
        struct sync sync;
        struct error err;
        enum report report;
        int fd, next;
        pid_t pid;
        (void)state;

        assert_int_equal(sync_open(&sync, &err), 0);
        *rights = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof sent), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS };
        memcpy(CMSG_DATA(rights), sent, sizeof sent);
        assert_int_equal(sendmsg(sync.child, &header, 0), sizeof message);
        assert_int_equal(sync_hear(sync.runtime, &report, &fd, &pid, &err), 0);
        assert_true(fd >= 0);
        next = dup(0);
        assert_int_equal(next, fd + 1);
        close(next);
        close(fd);
        sync_close(&sync);
}

static void says_nothing(int socket) {
        (void)socket;
}

static void a_child_that_ends_without_a_word_is_a_failure(void **state) {
        _cleanup_close_ int pidfd = -1;
        struct dialogue d = { .socket = talk_with(says_nothing, &pidfd), .console = -1 };
        struct error err;
        int status;
        (void)state;

        assert_true(dialogue_until(&d, REPORT_GONE, &err) < 0);
        assert_int_equal(err.code, CODE_LAUNCH_FAILED);
        process_reap(pidfd, &status);
        close(d.socket);
}

static void waits_for_a_token(int socket) {
        sync_await(socket, TOKEN_GO);
}

/* A runtime that is killed must not leave a half-made container waiting for ever. */
static void a_child_ends_itself_when_the_runtime_is_gone(void **state) {
        _cleanup_close_ int pidfd = -1;
        int socket = talk_with(waits_for_a_token, &pidfd), status;
        (void)state;

        assert_int_equal(process_wait_end(pidfd, 50), -ETIMEDOUT);
        close(socket);
        assert_int_equal(process_wait_end(pidfd, 5000), 0);
        assert_int_equal(process_reap(pidfd, &status), 0);
        assert_int_equal(status, 1);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(an_error_crosses_as_it_is),
                cmocka_unit_test(an_error_from_nobody_knows_whom_is_one_that_can_be_told),
                cmocka_unit_test(no_descriptor_but_the_first_stays_of_a_message_with_many),
                cmocka_unit_test(an_error_is_heard_although_a_token_was_left_unread),
                cmocka_unit_test(a_token_that_cannot_be_sent_is_an_error_but_to_a_child_that_is_gone),
                cmocka_unit_test(end_of_file_behind_exec_means_that_the_program_runs),
                cmocka_unit_test(a_child_that_ends_without_a_word_is_a_failure),
                cmocka_unit_test(a_child_ends_itself_when_the_runtime_is_gone),
        };

        return RUN_TESTS(tests);
}
