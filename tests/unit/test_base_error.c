#include "unit.h"

#include <errno.h>

#include "base/error.h"

static void fail_returns_the_negative_errno_and_fills_the_error(void **state) {
        struct error err;

        (void)state;
        assert_int_equal(fail(&err, CODE_NOT_FOUND, ENOENT, "/run/x", "no container %s", "x"), -ENOENT);
        assert_int_equal(err.code, CODE_NOT_FOUND);
        assert_int_equal(err.errnum, ENOENT);
        assert_int_equal(err.effect, EFFECT_NOT_APPLIED);
        assert_int_equal(err.line, 0);
        assert_string_equal(err.where, "/run/x");
        assert_string_equal(err.text, "no container x");
}

static void an_error_without_errno_is_einval(void **state) {
        struct error err;

        (void)state;
        assert_int_equal(fail(&err, CODE_USAGE, 0, NULL, "wrong"), -EINVAL);
        assert_int_equal(err.errnum, 0);
        assert_string_equal(err.where, "");
}

static void fail_errno_says_what_the_number_means(void **state) {
        struct error err;

        (void)state;
        assert_int_equal(fail_errno(&err, CODE_LAUNCH_FAILED, EACCES, "p", "cannot open"), -EACCES);
        assert_string_equal(err.text, "cannot open: Permission denied");
}

/* A container chooses names that end up on an administrator's terminal. */
static void control_characters_are_shown_not_sent(void **state) {
        struct error err;

        (void)state;
        fail(&err, CODE_USAGE, 0, "a\033[2Jb", "new\nline %s", "\x7f");
        assert_string_equal(err.where, "a\\x1b[2Jb");
        assert_string_equal(err.text, "new\\x0aline \\x7f");
}

static void long_texts_are_cut_to_fit(void **state) {
        char longer[1000];
        struct error err;

        (void)state;
        memset(longer, 'x', sizeof longer - 1);
        longer[sizeof longer - 1] = '\0';
        fail(&err, CODE_USAGE, 0, longer, "%s", longer);
        assert_true(strlen(err.where) < sizeof err.where);
        assert_true(strlen(err.text) < sizeof err.text);
        assert_true(strlen(err.text) > 300);

        memset(longer, '\n', sizeof longer - 1);
        fail(&err, CODE_USAGE, 0, longer, "%s", longer);
        assert_int_equal(strlen(err.where) % 4, 0);
}

static void a_prefix_goes_before_the_text(void **state) {
        struct error err;

        (void)state;
        assert_int_equal(fail_within(&err, fail(&err, CODE_HOOK_FAILED, EIO, "hooks", "exited 1"), "poststop[0]"), -EIO);
        assert_non_null(strstr(err.text, "exited 1"));
        assert_ptr_equal(strstr(err.text, "poststop[0]"), err.text);
}

static void every_code_has_a_name_and_unknown_numbers_are_internal(void **state) {
        (void)state;
        for (unsigned code = 0; code < CODE_COUNT; code++)
                assert_ptr_equal(strstr(error_code(code)->name, "sandbox."), error_code(code)->name);
        assert_ptr_equal(error_code(CODE_COUNT), error_code(CODE_INTERNAL));
        assert_ptr_equal(error_code(65535), error_code(CODE_INTERNAL));
        assert_string_equal(error_effect_name(EFFECT_APPLIED), "applied");
        assert_string_equal(error_effect_name(99), "unknown");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(fail_returns_the_negative_errno_and_fills_the_error),
                cmocka_unit_test(an_error_without_errno_is_einval),
                cmocka_unit_test(fail_errno_says_what_the_number_means),
                cmocka_unit_test(control_characters_are_shown_not_sent),
                cmocka_unit_test(long_texts_are_cut_to_fit),
                cmocka_unit_test(a_prefix_goes_before_the_text),
                cmocka_unit_test(every_code_has_a_name_and_unknown_numbers_are_internal),
        };

        return RUN_TESTS(tests);
}
