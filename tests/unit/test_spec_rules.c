/* Words of enums, and named rules of strings. */
#include "spec/config.h"

#include "libocispec/validators.h"

#include "tests/unit/unit.h"

/* cmocka's FAIL() ends in a macro whose name is ours. */
#define FAIL(...) (print_error(__VA_ARGS__), print_error("\n"), _fail(__FILE__, __LINE__))

static void enum_words_and_numbers_match(void **state) {
        (void)state;
        assert_string_equal(spec_enum_name(&oci_namespace_type_enum, OCI_NAMESPACE_TYPE_PID), "pid");
        assert_string_equal(spec_enum_name(&oci_namespace_type_enum, OCI_NAMESPACE_TYPE_TIME), "time");
        assert_null(spec_enum_name(&oci_namespace_type_enum, 0));
        assert_null(spec_enum_name(&oci_namespace_type_enum, 9));
        assert_null(spec_enum_name(&oci_namespace_type_enum, -1));
        assert_int_equal(spec_enum_find(&oci_namespace_type_enum, "uts", 3), OCI_NAMESPACE_TYPE_UTS);
        assert_int_equal(spec_enum_find(&oci_namespace_type_enum, "utsx", 3), OCI_NAMESPACE_TYPE_UTS);
        assert_int_equal(spec_enum_find(&oci_namespace_type_enum, "ut", 2), 0);
}

static void strings_keep_their_rules(void **state) {
        static const struct {
                enum spec_validator rule;
                const char *good[6], *bad[9];
        } rows[] = {
                { SPEC_VALID_OCI_VERSION, { "1.0.0", "1.0.0-rc.1", "1.10.0+x" },
                        { "", "1", "1.0", "1.0.", "01.0.0", "1.0.0-", "1.0.0x", "2.0.0", "1.00.0" } },
                { SPEC_VALID_ENV, { "A=", "A=b=c" }, { "", "A", "=b" } },
                { SPEC_VALID_DEVICE_ACCESS, { "", "r", "rwm", "mwr" }, { "x", "rr", "rwx" } },
                { SPEC_VALID_HUGEPAGE_SIZE, { "64KB", "2MB", "1GB" }, { "", "MB", "2M", "2mB", "02MB", "2MBx", "2TB" } },
                { SPEC_VALID_CPU_LIST, { "", "0", "0-3,7", "10,12" }, { ",", "0,", "-1", "0-", "a", "0 1", "0--1", "9999999999" } },
                { SPEC_VALID_PROXY_ORIGIN, { "http://h", "https://h:1/", "http://[::1]:3128" },
                        { "", "h", "http://", "http:///", "ftp://h", "http://u@h", "http://h/p", "http://h?q", "http://h h" } },
                { SPEC_VALID_ABSOLUTE_PATH_OR_EMPTY, { "", "/" }, { "a" } },
        };

        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                for (size_t k = 0; k < ELEMENTSOF(rows[i].good) && rows[i].good[k]; k++)
                        if (spec_validate(rows[i].rule, rows[i].good[k], strlen(rows[i].good[k])))
                                FAIL("%s is refused, expected %s", rows[i].good[k],
                                        spec_validate(rows[i].rule, rows[i].good[k], strlen(rows[i].good[k])));
                for (size_t k = 0; k < ELEMENTSOF(rows[i].bad) && rows[i].bad[k]; k++)
                        if (!spec_validate(rows[i].rule, rows[i].bad[k], strlen(rows[i].bad[k])))
                                FAIL("rule %d takes \"%s\"", rows[i].rule, rows[i].bad[k]);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(enum_words_and_numbers_match),
                cmocka_unit_test(strings_keep_their_rules),
        };

        return RUN_TESTS(tests);
}
