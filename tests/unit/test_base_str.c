#include "unit.h"

#include <errno.h>

#include "base/str.h"

static void a_string_grows_and_stays_terminated(void **state) {
        _cleanup_str_ struct str s = { 0 };

        (void)state;
        for (int i = 0; i < 1000; i++) {
                str_putc(&s, 'a');
                assert_int_equal(s.size, i * 4 + 1);
                assert_int_equal(s.text[s.size], '\0');
                str_printf(&s, "%03d", i);
        }
        assert_int_equal(s.size, 4000);
        assert_string_equal(s.text + 3996, "a999");
}

static void bytes_may_be_nul(void **state) {
        _cleanup_str_ struct str s = { 0 };

        (void)state;
        str_add(&s, "a\0b", 3);
        assert_int_equal(s.size, 3);
        assert_memory_equal(s.text, "a\0b", 4);
}

/* An empty string has no text, and memcpy(3) takes no NULL: a sanitizer sees it. */
static void nothing_can_be_added(void **state) {
        _cleanup_str_ struct str s = { 0 }, empty = { 0 };

        (void)state;
        str_add(&s, empty.text, empty.size);
        assert_string_equal(s.text, "");
}

static void a_freed_string_can_be_used_again(void **state) {
        struct str s = { 0 };

        (void)state;
        str_puts(&s, "first");
        str_free(&s);
        assert_null(s.text);
        str_puts(&s, "second");
        assert_string_equal(s.text, "second");
        str_free(&s);
}

static void the_rest_behind_a_prefix(void **state) {
        (void)state;
        assert_string_equal(str_after("file:/x", "file:"), "/x");
        assert_string_equal(str_after("file:", "file:"), "");
        assert_null(str_after("fil", "file:"));
}

static void unsigned_numbers_are_digits_up_to_the_maximum(void **state) {
        static const struct { const char *text; uint64_t max; int result; uint64_t value; } rows[] = {
                { "0", UINT64_MAX, 0, 0 },
                { "007", UINT64_MAX, 0, 7 },
                { "18446744073709551615", UINT64_MAX, 0, UINT64_MAX },
                { "18446744073709551616", UINT64_MAX, -ERANGE, 0 },
                { "99999999999999999999999", UINT64_MAX, -ERANGE, 0 },
                { "255", 255, 0, 255 },
                { "256", 255, -ERANGE, 0 },
                { "", UINT64_MAX, -EINVAL, 0 },
                { " 1", UINT64_MAX, -EINVAL, 0 },
                { "1 ", UINT64_MAX, -EINVAL, 0 },
                { "+1", UINT64_MAX, -EINVAL, 0 },
                { "-1", UINT64_MAX, -EINVAL, 0 },
                { "0x10", UINT64_MAX, -EINVAL, 0 },
                { "1e3", UINT64_MAX, -EINVAL, 0 },
        };

        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                uint64_t n = 42;

                assert_int_equal(str_to_u64(rows[i].text, rows[i].max, &n), rows[i].result);
                assert_true(n == (rows[i].result == 0 ? rows[i].value : 42));
        }
}

static void signed_numbers_reach_both_ends(void **state) {
        static const struct { const char *text; int result; int64_t value; } rows[] = {
                { "0", 0, 0 },
                { "-0", 0, 0 },
                { "-1", 0, -1 },
                { "9223372036854775807", 0, INT64_MAX },
                { "9223372036854775808", -ERANGE, 0 },
                { "-9223372036854775808", 0, INT64_MIN },
                { "-9223372036854775809", -ERANGE, 0 },
                { "-", -EINVAL, 0 },
                { "--1", -EINVAL, 0 },
                { "", -EINVAL, 0 },
        };

        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                int64_t n = 42;

                assert_int_equal(str_to_i64(rows[i].text, &n), rows[i].result);
                assert_true(n == (rows[i].result == 0 ? rows[i].value : 42));
        }
}

static void two_numbers_stand_at_the_beginning(void **state) {
        static const char *const none[] = { "", "6", "6.", ".1", "6:1", "6..1", " 6.1", "-6.1", "4294967296.1", "1.4294967296" };
        unsigned first = 7, second = 7;

        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(none); i++)
                assert_false(str_two_numbers(none[i], '.', &first, &second));
        assert_true(first == 7 && second == 7);
        assert_true(str_two_numbers("6.18.0-rc1", '.', &first, &second) && first == 6 && second == 18);
        assert_true(str_two_numbers("4294967295:0 rbytes=1", ':', &first, &second) && first == UINT32_MAX && second == 0);
}

static void a_taken_pointer_is_gone(void **state) {
        char *p = strdup("x"), *q = take_ptr(p);

        (void)state;
        assert_null(p);
        assert_string_equal(q, "x");
        free(q);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_string_grows_and_stays_terminated),
                cmocka_unit_test(bytes_may_be_nul),
                cmocka_unit_test(nothing_can_be_added),
                cmocka_unit_test(a_freed_string_can_be_used_again),
                cmocka_unit_test(the_rest_behind_a_prefix),
                cmocka_unit_test(unsigned_numbers_are_digits_up_to_the_maximum),
                cmocka_unit_test(signed_numbers_reach_both_ends),
                cmocka_unit_test(two_numbers_stand_at_the_beginning),
                cmocka_unit_test(a_taken_pointer_is_gone),
        };

        return RUN_TESTS(tests);
}
