#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/str.h"

static void numbers_stop_at_the_maximum(void **state) {
        uint64_t n = 7;

        (void)state;
        assert_int_equal(str_to_u64("255", 255, &n), 0);
        assert_int_equal(n, 255);
        assert_int_equal(str_to_u64("256", 255, &n), -ERANGE);
        assert_int_equal(n, 255);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(numbers_stop_at_the_maximum),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
