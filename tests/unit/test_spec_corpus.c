/* What generate.py makes of every schema: a document with every member, which the decoder must take and the encoder write again, and
 * documents that are wrong at one place, which the decoder must refuse and name that place. */
#define _GNU_SOURCE /* asprintf */
#include "spec/roots.h"

#include "libocispec/table.h"

#include "tests/unit/unit.h"

/* Lines are "path TAB document"; the test runs in the build directory. Returns the documents that were judged wrongly. */
static unsigned check_line(const char *schema, const struct spec_type *type, const char *path, const char *document, size_t size) {
        _cleanup_arena_ struct arena arena = { 0 };
        struct error err = { 0 };
        int r;

        r = spec_decode(&arena, type, "document", document, size, arena_alloc(&arena, type->size), &err);
        if (r < 0 && err.code == CODE_CONFIG_INVALID && err.line == 1 && streq(err.where, path))
                return 0;
        print_error("%s.json: %s\n  expected an error at %s\n  found %d at %s, line %u: %s\n", schema, document, path, r, err.where,
                err.line, err.text);
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

static void check_full(void **state) {
        size_t i = (size_t)*state, room = 0;
        _cleanup_arena_ struct arena arena = { 0 };
        _cleanup_str_ struct str out = { 0 };
        char name[64], *text = NULL;
        struct error err;
        void *value;
        ssize_t n;
        FILE *f;

        snprintf(name, sizeof name, "spec/%s.full", spec_roots[i].name);
        f = fopen(name, "r");
        assert_non_null(f);
        n = getline(&text, &room, f);
        fclose(f);
        assert_true(n > 0);
        value = arena_alloc(&arena, spec_roots[i].type->size);
        if (spec_decode(&arena, spec_roots[i].type, name, text, (size_t)n, value, &err) < 0 ||
                spec_encode(spec_roots[i].type, value, &out, 0, &err) < 0) {
                print_error("%s: %s\n", err.where, err.text);
                _fail(__FILE__, __LINE__);
        }
        assert_string_equal(out.text, text);
        free(text);
}

int main(void) {
        struct CMUnitTest tests[2 * ELEMENTSOF(spec_roots)];
        int failed;

        for (size_t i = 0; i < ELEMENTSOF(spec_roots); i++) {
                char *names[2];

                if (asprintf(&names[0], "%s: what is wrong is refused where it is wrong", spec_roots[i].name) < 0 ||
                        asprintf(&names[1], "%s: every member is read and written", spec_roots[i].name) < 0)
                        abort();
                tests[2 * i] = (struct CMUnitTest){ names[0], check_schema, NULL, NULL, (void *)i };
                tests[2 * i + 1] = (struct CMUnitTest){ names[1], check_full, NULL, NULL, (void *)i };
        }
        failed = _cmocka_run_group_tests("every member of every schema", tests, ELEMENTSOF(tests), NULL, NULL);
        for (size_t i = 0; i < ELEMENTSOF(tests); i++)
                free((char *)tests[i].name);
        return failed;
}
