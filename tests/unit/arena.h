/* Memory and an error that the tests of a file share; each test's memory is given back when it ends. */
#pragma once

#include "unit.h"

#include "base/arena.h"
#include "base/error.h"

static struct arena arena;
__attribute__((unused)) static struct error err;

static inline int free_arena(void **state) {
        (void)state;
        arena_free(&arena);
        return 0;
}

#define TEST(name) cmocka_unit_test_teardown(name, free_arena)
