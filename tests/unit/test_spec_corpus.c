/* Every document that generate.py made wrong at one place, of every schema: the decoder must refuse it and name that place. */
#include "spec/roots.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

/* Lines are "path TAB document"; the test runs in the build directory. Returns the documents that were judged wrongly. */
static unsigned check_line(const char *schema, const struct spec_type *type, const char *path, const char *document, size_t size) {
        _cleanup_arena_ struct arena arena = { 0 };
        struct error err = { 0 };
        char value[4096];
        int r;

        r = spec_decode(&arena, type, "document", document, size, value, &err);
        if (r < 0 && err.code == CODE_CONFIG_INVALID && err.line == 1 && streq(err.where, path))
                return 0;
        print_error("%s.json: %s\n  expected an error at %s\n  found %d at %s, line %u: %s\n", schema, document, path, r, err.where, err.line, err.text);
        return 1;
}

static void check_schema(void **state) {
        size_t i = (size_t)*state, room = 0;
        unsigned wrong = 0, lines = 0;
        char name[64], *line = NULL;
        ssize_t n;
        FILE *f;

        snprintf(name, sizeof name, "spec/%s.corpus", spec_roots[i].name);
        f = fopen(name, "r");
        assert_non_null(f);
        while ((n = getline(&line, &room, f)) > 0) {
                char *tab = strchr(line, '\t');

                assert_non_null(tab);
                assert_true(line[n - 1] == '\n');
                *tab = line[n - 1] = '\0';
                wrong += check_line(spec_roots[i].name, spec_roots[i].type, line, tab + 1, (size_t)(line + n - 1 - (tab + 1)));
                lines++;
        }
        free(line);
        fclose(f);
        assert_true(lines > 0);
        assert_int_equal(wrong, 0);
}

int main(void) {
        struct CMUnitTest tests[ELEMENTSOF(spec_roots)];

        for (size_t i = 0; i < ELEMENTSOF(spec_roots); i++)
                tests[i] = (struct CMUnitTest){ spec_roots[i].name, check_schema, NULL, NULL, (void *)i };
        return _cmocka_run_group_tests("every member of every schema refuses what it may not be", tests, ELEMENTSOF(tests), NULL, NULL);
}
