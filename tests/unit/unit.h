/* cmocka with the headers that it wants before it, and a directory for a test that needs files. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* Ours is base/error.h's, and cmocka's macros would end in it. */
#undef fail
#undef fail_msg
#define FAIL(...) (print_error(__VA_ARGS__), print_error("\n"), _fail(__FILE__, __LINE__))

#define RUN_TESTS(tests) cmocka_run_group_tests((tests), NULL, NULL)

/* cmocka_unit_test_setup_teardown(test, make_directory, remove_directory): *state is the path of an empty directory. */
static inline int make_directory(void **state) {
        char name[] = "/tmp/sage-unit.XXXXXX";

        if (!mkdtemp(name))
                return -1;
        *state = strdup(name);
        return 0;
}

static inline int remove_directory(void **state) {
        char command[64];
        int r;

        snprintf(command, sizeof command, "rm -rf '%s'", (char *)*state);
        r = system(command);
        free(*state);
        return r;
}
