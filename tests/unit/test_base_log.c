#include "unit.h"

#include <errno.h>
#include <fcntl.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/log.h"

/* One file of the log and one of what went to stderr meanwhile. */
struct captured {
        struct str log, standard_error;
};

static void captured_free(struct captured *captured) {
        str_free(&captured->log);
        str_free(&captured->standard_error);
}
#define _cleanup_captured_ __attribute__((cleanup(captured_free)))

/* Runs WRITE with a log at LEVEL in the directory *state, stderr going to a file beside it. */
static struct captured capture(void *const *state, bool json, enum log_level level, void (*write_messages)(void)) {
        _cleanup_close_ int dir = open(*state, O_RDONLY | O_DIRECTORY | O_CLOEXEC), saved = fcntl(2, F_DUPFD_CLOEXEC, 3);
        _cleanup_close_ int elsewhere = openat(dir, "stderr", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        struct captured captured = { 0 };
        char path[64];
        struct error err;

        assert_true(dir >= 0 && saved >= 0 && elsewhere >= 0);
        snprintf(path, sizeof path, "file:%s/log", (char *)*state);
        dup2(elsewhere, 2);
        if (log_open(path, json, level, &err) == 0)
                write_messages();
        dup2(saved, 2);
        assert_int_equal(file_read(dir, "log", 10000, &captured.log), 0);
        assert_int_equal(file_read(dir, "stderr", 10000, &captured.standard_error), 0);
        return captured;
}

static void fail_with_a_quote(void) {
        struct error err;

        fail(&err, CODE_CONFIG_INVALID, 0, "process.args", "expected \"a\\b\"");
        log_error(&err);
}

static void write_every_level(void) {
        log_message(LOG_LEVEL_ERROR, "one");
        log_message(LOG_LEVEL_WARNING, "two\nlines");
        log_message(LOG_LEVEL_INFO, "three");
        log_message(LOG_LEVEL_DEBUG, "four");
}

/* podman reads the whole file as one object. */
static void a_failure_in_json_is_one_line(void **state) {
        _cleanup_captured_ struct captured captured = capture(state, true, LOG_LEVEL_DEBUG, fail_with_a_quote);
        const char *text = captured.log.text, *newline = strchr(text, '\n');

        assert_non_null(newline);
        assert_int_equal(newline[1], '\0');
        assert_ptr_equal(strstr(text, "{\"level\":\"error\",\"msg\":\"process.args: expected \\\"a\\\\b\\\"\",\"time\":\"2"), text);
        assert_non_null(strstr(text, ",\"code\":\"sandbox.config_invalid\",\"field\":\"process.args\",\"effect\":\"not_applied\"}\n"));
        assert_string_equal(captured.standard_error.text, "sage-runtime: process.args: expected \"a\\b\"\n");
}

static void only_levels_up_to_the_chosen_one_are_written(void **state) {
        _cleanup_captured_ struct captured captured = capture(state, false, LOG_LEVEL_INFO, write_every_level);

        assert_non_null(strstr(captured.log.text, "sage-runtime: one\n"));
        assert_non_null(strstr(captured.log.text, "sage-runtime: warning: two"));
        assert_non_null(strstr(captured.log.text, "sage-runtime: three\n"));
        assert_null(strstr(captured.log.text, "four"));
        assert_string_equal(captured.standard_error.text, "");
}

static void a_message_in_json_is_one_line_whatever_it_holds(void **state) {
        _cleanup_captured_ struct captured captured = capture(state, true, LOG_LEVEL_WARNING, write_every_level);

        assert_non_null(strstr(captured.log.text, "\"msg\":\"two\\u000alines\""));
        assert_null(strstr(captured.log.text, "three"));
}

static void a_log_file_that_cannot_be_opened_is_a_usage_error(void **state) {
        struct error err;

        (void)state;
        assert_int_equal(log_open("/nonexistent/log", false, LOG_LEVEL_ERROR, &err), -ENOENT);
        assert_int_equal(err.code, CODE_USAGE);
        assert_string_equal(err.where, "--log");
        assert_int_equal(log_open("/proc", false, LOG_LEVEL_ERROR, &err), -EISDIR);
}

#define IN_A_DIRECTORY(test) cmocka_unit_test_setup_teardown(test, make_directory, remove_directory)

int main(void) {
        const struct CMUnitTest tests[] = {
                IN_A_DIRECTORY(a_failure_in_json_is_one_line),
                IN_A_DIRECTORY(only_levels_up_to_the_chosen_one_are_written),
                IN_A_DIRECTORY(a_message_in_json_is_one_line_whatever_it_holds),
                cmocka_unit_test(a_log_file_that_cannot_be_opened_is_a_usage_error),
        };

        return RUN_TESTS(tests);
}
