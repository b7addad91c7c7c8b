/* The recorded hosts of tests/unit/hosts, and files that tests make. */
#pragma once

#include "unit.h"

#include "base/arena.h"
#include "facts/facts.h"

static inline void put_file(const char *path, const char *text) {
        FILE *file = fopen(path, "we");

        assert_non_null(file);
        assert_true(fputs(text, file) >= 0);
        assert_int_equal(fclose(file), 0);
}

/* automake gives tests the source directory as $srcdir; without it, the test runs in the top of the source tree. */
static inline const char *host_path(struct arena *arena, const char *name, const char *suffix) {
        const char *top = getenv("srcdir");

        return arena_printf(arena, "%s/tests/unit/hosts/%s%s", top ? top : ".", name, suffix);
}

static inline void load_host(struct arena *arena, const char *name, struct host *ret) {
        struct error err = { 0 };

        *ret = (struct host){ .arena = arena };
        if (facts_load(ret, host_path(arena, name, ".json"), &err) < 0)
                print_error("%s: %s\n", err.where, err.text);
        assert_true(ret->recorded);
}
