#include "unit.h"

#include <errno.h>

#include "base/str.h"
#include "cmd/options.h"
#include "cmd/signals.h"

struct values { bool force; const char *bundle, *tty; unsigned fds; struct text_list env; };

static const struct option_row rows[] = {
        { "force", 'f', OPTION_FLAG, offsetof(struct values, force), "" },
        { "bundle", 'b', OPTION_TEXT, offsetof(struct values, bundle), "" },
        { "preserve-fds", 0, OPTION_NUMBER, offsetof(struct values, fds), "" },
        { "env", 'e', OPTION_LIST, offsetof(struct values, env), "" },
        { "tty", 0, OPTION_OPTIONAL, offsetof(struct values, tty), "" },
        { "no-subreaper", 0, OPTION_NOTHING_FLAG, 0, "" },
};

/* Parses a blank-separated command line. Words stay allocated: values point into them. */
static int parse(struct arena *arena, enum option_order order, const char *line, struct values *values, char ***operands, int *n, struct error *err) {
        char *copy = arena_strdup(arena, line), **argv = arena_array(arena, char *, 32);
        int argc = 0;

        for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "))
                argv[argc++] = word;
        *values = (struct values){ 0 };
        return options_parse(arena, rows, ELEMENTSOF(rows), order, argc, argv, values, operands, n, err);
}

static void every_spelling_of_a_value_is_understood(void **state) {
        static const char *const lines[] = {
                "delete --bundle /b x", "delete --bundle=/b x", "delete -b /b x", "delete -b/b x", "delete -b=/b x", "delete -bundle /b x",
                "delete -bundle=/b x", "delete x --bundle /b",
        };
        (void)state;

        for (size_t i = 0; i < ELEMENTSOF(lines); i++) {
                _cleanup_arena_ struct arena arena = { 0 };
                struct values v;
                struct error err;
                char **operands;
                int n;

                assert_int_equal(parse(&arena, OPTIONS_ANYWHERE, lines[i], &v, &operands, &n, &err), 0);
                assert_string_equal(v.bundle, "/b");
                assert_int_equal(n, 1);
                assert_string_equal(operands[0], "x");
                assert_null(operands[1]);
        }
}

static void flags_take_a_truth_value_only_behind_a_sign(void **state) {
        _cleanup_arena_ struct arena arena = { 0 };
        struct values v;
        struct error err;
        char **operands;
        int n;
        (void)state;

        assert_int_equal(parse(&arena, OPTIONS_ANYWHERE, "delete --force true", &v, &operands, &n, &err), 0);
        assert_true(v.force);
        assert_int_equal(n, 1);
        assert_int_equal(parse(&arena, OPTIONS_ANYWHERE, "delete --force=false x", &v, &operands, &n, &err), 0);
        assert_false(v.force);
        assert_int_equal(parse(&arena, OPTIONS_ANYWHERE, "delete --force=maybe x", &v, &operands, &n, &err), -EINVAL);
}

static void a_value_that_need_not_be_there_stands_behind_a_sign(void **state) {
        _cleanup_arena_ struct arena arena = { 0 };
        struct values v;
        struct error err;
        char **operands;
        int n;
        (void)state;

        assert_int_equal(parse(&arena, OPTIONS_ANYWHERE, "x --tty auto", &v, &operands, &n, &err), 0);
        assert_string_equal(v.tty, "true");
        assert_int_equal(n, 1);
        assert_int_equal(parse(&arena, OPTIONS_ANYWHERE, "x --tty=auto", &v, &operands, &n, &err), 0);
        assert_string_equal(v.tty, "auto");
        assert_int_equal(n, 0);
}

static void the_words_behind_the_first_operand_belong_to_the_program(void **state) {
        _cleanup_arena_ struct arena arena = { 0 };
        struct values v;
        struct error err;
        char **operands;
        int n;
        (void)state;

        assert_int_equal(parse(&arena, OPTIONS_BEFORE_OPERAND, "exec -e A=1 --env B=2 id ls -f -- x", &v, &operands, &n, &err), 0);
        assert_int_equal(v.env.n, 2);
        assert_string_equal(v.env.items[1], "B=2");
        assert_false(v.force);
        assert_int_equal(n, 5);
        assert_string_equal(operands[2], "-f");
        assert_string_equal(operands[3], "--");
}

static void what_is_no_option_or_lacks_its_value_is_refused(void **state) {
        static const char *const lines[] = {
                "x --nope", "x -z", "x --bundle", "x -b", "x --preserve-fds many", "x --preserve-fds -1", "x --preserve-fds 99999999999", "x -fz", "x --bundl /b",
        };
        (void)state;

        for (size_t i = 0; i < ELEMENTSOF(lines); i++) {
                _cleanup_arena_ struct arena arena = { 0 };
                struct values v;
                struct error err = { 0 };
                char **operands;
                int n;

                assert_int_equal(parse(&arena, OPTIONS_ANYWHERE, lines[i], &v, &operands, &n, &err), -EINVAL);
                assert_int_equal(err.code, CODE_USAGE);
        }
}

static void signals_go_by_number_and_by_name_in_any_case(void **state) {
        static const struct { const char *text; int number; } good[] = {
                { "0", 0 },       { "9", 9 },       { "64", 64 },         { "KILL", 9 },        { "SIGKILL", 9 },    { "sigkill", 9 },
                { "sigKILL", 9 }, { "term", 15 },   { "RTMIN", 34 },      { "SIGRTMIN+3", 37 }, { "rtmin+30", 64 }, { "SIGRTMAX", 64 },
                { "RTMAX-14", 50 }, { "WINCH", 28 },
        };
        static const char *const bad[] = { "", "SIG", "9x", "-1", "0x9", "99", "65", "usr1x", "RTMIN+31", "RTMIN-1", "RTMAX+1", "RTMIN+", " 9", "KILL " };
        (void)state;

        for (size_t i = 0; i < ELEMENTSOF(good); i++) {
                struct error err;
                int number = -1;

                assert_int_equal(signal_parse(good[i].text, &number, &err), 0);
                assert_int_equal(number, good[i].number);
        }
        for (size_t i = 0; i < ELEMENTSOF(bad); i++) {
                struct error err;
                int number;

                assert_int_equal(signal_parse(bad[i], &number, &err), -EINVAL);
                assert_int_equal(err.code, CODE_USAGE);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(every_spelling_of_a_value_is_understood),
                cmocka_unit_test(flags_take_a_truth_value_only_behind_a_sign),
                cmocka_unit_test(a_value_that_need_not_be_there_stands_behind_a_sign),
                cmocka_unit_test(the_words_behind_the_first_operand_belong_to_the_program),
                cmocka_unit_test(what_is_no_option_or_lacks_its_value_is_refused),
                cmocka_unit_test(signals_go_by_number_and_by_name_in_any_case),
        };

        return RUN_TESTS(tests);
}
