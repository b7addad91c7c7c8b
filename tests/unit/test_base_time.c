#include "unit.h"

#include "base/time.h"

static void a_time_is_rfc_3339_with_all_nine_digits(void **state) {
        (void)state;
        assert_string_equal(time_rfc3339(0).text, "1970-01-01T00:00:00.000000000Z");
        assert_string_equal(time_rfc3339(UINT64_C(951868799000000001)).text, "2000-02-29T23:59:59.000000001Z");
        assert_string_equal(time_rfc3339(UINT64_C(4102444800999999999)).text, "2100-01-01T00:00:00.999999999Z");
}

/* gmtime(3) as the judge: the first and the last second of every month, as long as 64 bits of nanoseconds last. */
static void dates_are_those_of_the_c_library(void **state) {
        (void)state;
        for (int month = 0; month < 12 * 584; month++) {
                struct tm first = { .tm_year = 70 + month / 12, .tm_mon = month % 12, .tm_mday = 1 };
                time_t begin = timegm(&first);

                for (time_t at = begin ? begin - 1 : 0; at <= begin; at++) {
                        char expected[40];
                        struct tm tm;

                        gmtime_r(&at, &tm);
                        strftime(expected, sizeof expected, "%Y-%m-%dT%H:%M:%S.000000000Z", &tm);
                        assert_string_equal(time_rfc3339((uint64_t)at * 1000000000u).text, expected);
                }
        }
}

static void the_monotonic_clock_does_not_go_back(void **state) {
        uint64_t before = time_monotonic_us();

        (void)state;
        assert_true(before > 0);
        for (int i = 0; i < 1000; i++) {
                uint64_t now = time_monotonic_us();

                assert_true(now >= before);
                before = now;
        }
}

/* Both clocks in their unit: 2020-01-01 in nanoseconds lies behind us, in any smaller unit it would not. */
static void realtime_counts_nanoseconds(void **state) {
        (void)state;
        assert_true(time_realtime_ns() > UINT64_C(1577836800000000000));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_time_is_rfc_3339_with_all_nine_digits),
                cmocka_unit_test(dates_are_those_of_the_c_library),
                cmocka_unit_test(the_monotonic_clock_does_not_go_back),
                cmocka_unit_test(realtime_counts_nanoseconds),
        };

        return RUN_TESTS(tests);
}
