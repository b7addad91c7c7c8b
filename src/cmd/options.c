#include "cmd/options.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>

#include "base/str.h"

static bool takes_value(const struct option_row *row) {
        return row->kind != OPTION_FLAG && row->kind != OPTION_NOTHING_FLAG;
}

static const struct option_row *find_long(const struct option_row *rows, size_t n, const char *name, size_t length) {
        for (size_t i = 0; i < n; i++)
                if (strncmp(rows[i].name, name, length) == 0 && rows[i].name[length] == '\0')
                        return &rows[i];
        return NULL;
}

static const struct option_row *find_letter(const struct option_row *rows, size_t n, char letter) {
        for (size_t i = 0; i < n; i++)
                if (letter && rows[i].letter == letter)
                        return &rows[i];
        return NULL;
}

static int store_flag(const struct option_row *row, const char *value, bool *at, struct error *err) {
        if (!value || streq(value, "true") || streq(value, "1"))
                *at = true;
        else if (streq(value, "false") || streq(value, "0"))
                *at = false;
        else
                return fail(err, CODE_USAGE, EINVAL, row->name, "expected true or false, found `%s`", value);
        return 0;
}

static int store(struct arena *arena, const struct option_row *row, const char *value, void *into, struct error *err) {
        void *at = (char *)into + row->offset;
        struct text_list *list = at;
        const char **grown;
        uint64_t number;

        switch ((enum option_kind)row->kind) {
        case OPTION_FLAG:
                return store_flag(row, value, at, err);
        case OPTION_TEXT:
        case OPTION_OPTIONAL:
                *(const char **)at = value;
                return 0;
        case OPTION_NUMBER:
                if (str_to_u64(value, INT_MAX, &number) < 0)
                        return fail(err, CODE_USAGE, EINVAL, row->name, "expected a number, found `%s`", value);
                *(unsigned *)at = (unsigned)number;
                return 0;
        case OPTION_LIST:
                grown = arena_array(arena, const char *, list->n + 2);
                if (list->n)
                        memcpy(grown, list->items, list->n * sizeof *grown);
                grown[list->n++] = value;
                list->items = grown;
                return 0;
        case OPTION_NOTHING_FLAG:
                return 0;
        }
        return 0;
}

/* Reads the option at argv[*at] and what belongs to it; *at ends on its last word. */
static int take_option(
        struct arena *arena, const struct option_row *rows, size_t n, int argc, char **argv, int *at, void *into, struct error *err) {
        const char *word = argv[*at], *name = word + (word[1] == '-' ? 2 : 1), *sign = strchr(name, '='), *value = NULL;
        const struct option_row *row = find_long(rows, n, name, sign ? (size_t)(sign - name) : strlen(name));

        if (row && sign)
                value = sign + 1;
        if (!row && word[1] != '-') { /* -b VALUE, -bVALUE, -b=VALUE */
                row = find_letter(rows, n, word[1]);
                if (row && word[2])
                        value = word + 2 + (word[2] == '=');
        }
        if (!row || (value && !takes_value(row) && !sign))
                return fail(err, CODE_USAGE, EINVAL, "", "unknown option `%s`", word);
        if (row->kind == OPTION_OPTIONAL && !value) {
                value = "true";
        } else if (takes_value(row) && !value) {
                if (*at + 1 >= argc)
                        return fail(err, CODE_USAGE, EINVAL, "", "option `%s` needs a value", word);
                value = argv[++*at];
        }
        return store(arena, row, value, into, err);
}

int options_parse(struct arena *arena, const struct option_row *rows, size_t n, enum option_order order, int argc, char **argv, void *into,
        char ***ret_operands, int *ret_n, struct error *err) {
        bool only_operands = false;
        int operands = 0, r;

        for (int i = 1; i < argc; i++) {
                if (!only_operands && streq(argv[i], "--")) {
                        only_operands = true;
                        continue;
                }
                if (only_operands || argv[i][0] != '-' || argv[i][1] == '\0') {
                        argv[1 + operands++] = argv[i];
                        only_operands |= order == OPTIONS_BEFORE_OPERAND;
                        continue;
                }
                if ((r = take_option(arena, rows, n, argc, argv, &i, into, err)) < 0)
                        return r;
        }
        argv[1 + operands] = NULL;
        *ret_operands = argv + 1;
        *ret_n = operands;
        return 0;
}

void options_help(const struct option_row *rows, size_t n) {
        for (size_t i = 0; i < n; i++) {
                char letter[8] = "    ";
                int width;

                if (!rows[i].help)
                        continue;
                if (rows[i].letter)
                        snprintf(letter, sizeof letter, "-%c, ", rows[i].letter);
                width = printf("  %s--%s%s", letter, rows[i].name, takes_value(&rows[i]) && rows[i].kind != OPTION_OPTIONAL ? " VALUE" : "");
                printf("%*s%s\n", width < 36 ? 36 - width : 1, "", rows[i].help);
        }
}
