#include "plan/environment.h"

#include <stdlib.h>

/* linux/binfmts.h, MAX_ARG_STRLEN: execve(2) answers E2BIG to a longer one without saying which. */
#define LONGEST (128u * 1024)

struct variable {
        const char *text;
        uint32_t length; /* of the name */
        uint32_t index;
};

static int by_name(const void *left, const void *right) {
        const struct variable *a = left, *b = right;
        int r = memcmp(a->text, b->text, a->length < b->length ? a->length : b->length);

        if (r == 0)
                r = (a->length > b->length) - (a->length < b->length);
        return r ? r : (a->index > b->index) - (a->index < b->index);
}

static int parse(struct arena *arena, const char *const *env, size_t n, const char *field, struct variable *variables, struct error *err) {
        for (size_t i = 0; i < n; i++) {
                const char *equals = strchr(env[i], '=');

                if (!equals || equals == env[i])
                        return INVALID(err, FIELD(arena, "%s.env[%zu]", field, i), "expected NAME=VALUE");
                if (strlen(equals) + (size_t)(equals - env[i]) >= LONGEST)
                        return fail(err, CODE_CONFIG_INVALID, E2BIG, FIELD(arena, "%s.env[%zu]", field, i),
                                "one variable may have at most %u bytes (execve(2), MAX_ARG_STRLEN)", LONGEST - 1);
                variables[i] = (struct variable){ env[i], (uint32_t)(equals - env[i]), (uint32_t)i };
        }
        return 0;
}

static bool is_home(const struct variable *variable) {
        return variable->length == 4 && memcmp(variable->text, "HOME", 4) == 0;
}

/* As with runc: it says no more than none at all. */
static bool home_is_empty(const struct variable *variable) {
        return is_home(variable) && variable->text[sizeof "HOME=" - 1] == '\0';
}

int environment_compile(struct arena *arena, const char *const *env, size_t n, const char *field, const char ***ret, size_t *ret_n,
        bool *ret_home, struct error *err) {
        struct variable *variables = arena_array(arena, struct variable, n);
        const char **kept = arena_array(arena, const char *, n + 1);
        bool home = false;
        size_t n_kept = 0;
        int r = parse(arena, env, n, field, variables, err);

        if (r < 0)
                return r;
        for (size_t i = 0; i < n; i++)
                kept[i] = env[i];
        qsort(variables, n, sizeof *variables, by_name);
        for (size_t i = 0; i < n; i++) {
                const struct variable *a = &variables[i], *b = a + 1;

                if (is_home(a))
                        home = true;
                if (i + 1 < n && a->length == b->length && memcmp(a->text, b->text, a->length) == 0)
                        kept[a->index] = NULL;
                else if (home_is_empty(a))
                        home = false, kept[a->index] = NULL;
        }
        for (size_t i = 0; i < n; i++)
                if (kept[i])
                        kept[n_kept++] = kept[i];
        kept[n_kept] = NULL;
        *ret = kept;
        *ret_n = n_kept;
        *ret_home = home;
        return 0;
}
