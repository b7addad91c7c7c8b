#include "cmd/sandbox_env.h"

#include <errno.h>
#include <stdlib.h>

#include "base/str.h"
#include "cmd/source.h"
#include "libocispec/validators.h"

enum { FILE_MAX = 1 << 20 };

void text_list_add(struct arena *arena, struct text_list *list, const char *item) {
        const char **grown = arena_array(arena, const char *, list->n + 2);

        if (list->n)
                memcpy(grown, list->items, list->n * sizeof *grown);
        grown[list->n++] = item;
        list->items = grown;
}

/* The variable that begins at TEXT has a name that one can have. */
static int check_name(struct arena *arena, const char *text, const char *option, const char *place, struct error *err) {
        const char *name = arena_strndup(arena, text, strcspn(text, "="));
        const char *expected = spec_validate(SPEC_VALID_ENV_NAME, name, strlen(name));

        return expected ? fail(err, CODE_USAGE, EINVAL, option, "%sexpected %s, found `%s`", place, expected, name) : 0;
}

int sandbox_environment_parse(
        struct arena *arena, const char *file, const char *text, size_t size, struct text_list *ret, struct error *err) {
        unsigned number = 0;
        int r;

        if (size && memchr(text, '\0', size))
                return fail(err, CODE_USAGE, EINVAL, "--env-file", "%s: expected text, found a NUL", file);
        while (*text) {
                const char *line = arena_strndup(arena, text, strcspn(text, "\n"));
                const char *place = arena_printf(arena, "%s:%u: ", file, ++number);

                text += strlen(line) + (text[strlen(line)] == '\n');
                if (*line == '\0' || *line == '#')
                        continue;
                if (!strchr(line, '='))
                        return fail(err, CODE_USAGE, EINVAL, "--env-file", "%sexpected NAME=VALUE", place);
                if ((r = check_name(arena, line, "--env-file", place, err)) < 0)
                        return r;
                text_list_add(arena, ret, line);
        }
        return 0;
}

static int read_file(struct arena *arena, const char *file, struct text_list *ret, struct error *err) {
        _cleanup_str_ struct str text = { 0 };
        int r = source_read("--env-file", file, FILE_MAX, &text, err);

        return r < 0 ? r : sandbox_environment_parse(arena, file, text.text, text.size, ret, err);
}

int sandbox_environment(
        struct arena *arena, const struct text_list *env, const struct text_list *files, struct text_list *ret, struct error *err) {
        struct text_list all = { 0 };
        int r;

        for (size_t i = 0; i < files->n; i++)
                if ((r = read_file(arena, files->items[i], &all, err)) < 0)
                        return r;
        for (size_t i = 0; i < env->n; i++) {
                const char *item = env->items[i];

                if ((r = check_name(arena, item, "--env", "", err)) < 0)
                        return r;
                if (!strchr(item, '=')) {
                        const char *value = getenv(item);

                        if (!value)
                                return fail(err, CODE_USAGE, ENOENT, "--env", "%s is not set, so that there is no value to pass on", item);
                        item = arena_printf(arena, "%s=%s", item, value);
                }
                text_list_add(arena, &all, item);
        }
        *ret = all;
        return 0;
}
