/* The host's ps, cut down to a container. */
#include "unit.h"

#include "cmd/ps_table.h"

static const pid_t pids[] = { 7, 4711 };

static int filter(const char *text, struct str *out) {
        struct error err;

        return ps_table_filter(text, pids, ELEMENTSOF(pids), out, &err);
}

static void the_header_and_the_lines_of_the_processes_stay(void **state) {
        _cleanup_str_ struct str out = { 0 };

        (void)state;
        assert_int_equal(filter("UID          PID    PPID CMD\n"
                                "root           7       1 sleep 4711\n"
                                "root          17       7 sleep 7\n"
                                "root        4711       7 sh\n"
                                "root          70    4711 7\n",
                                &out), 0);
        assert_string_equal(out.text, "UID          PID    PPID CMD\n"
                                      "root           7       1 sleep 4711\n"
                                      "root        4711       7 sh\n");
}

static void the_column_is_the_one_that_is_called_PID(void **state) {
        _cleanup_str_ struct str out = { 0 };

        (void)state;
        assert_int_equal(filter("PPID\tPID\n7\t8\n8\t7", &out), 0);
        assert_string_equal(out.text, "PPID\tPID\n8\t7\n");
}

static void lines_that_are_no_process_go(void **state) {
        _cleanup_str_ struct str out = { 0 };

        (void)state;
        assert_int_equal(filter("PID\n\n7x\n-7\n007777777777777777777777777777\n 7 \n", &out), 0);
        assert_string_equal(out.text, "PID\n 7 \n");
}

static void a_table_without_that_column_is_refused(void **state) {
        _cleanup_str_ struct str out = { 0 };

        (void)state;
        assert_true(filter("UID CMD\nroot 7\n", &out) < 0);
        assert_true(filter("PPID\nPID\n", &out) < 0);
        assert_true(filter("", &out) < 0);
        assert_null(out.text);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_header_and_the_lines_of_the_processes_stay),
                cmocka_unit_test(the_column_is_the_one_that_is_called_PID),
                cmocka_unit_test(lines_that_are_no_process_go),
                cmocka_unit_test(a_table_without_that_column_is_refused),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
