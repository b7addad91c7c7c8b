#include "unit.h"

#include <stdalign.h>

#include "base/arena.h"

static void memory_is_zeroed_and_aligned_for_any_type(void **state) {
        _cleanup_arena_ struct arena arena = { 0 };

        (void)state;
        for (size_t size = 1; size < 200; size++) {
                char *p = arena_alloc(&arena, size);

                assert_int_equal((uintptr_t)p % alignof(max_align_t), 0);
                for (size_t i = 0; i < size; i++)
                        assert_int_equal(p[i], 0);
                memset(p, 0xff, size);
        }
}

static void earlier_pieces_survive_growth(void **state) {
        _cleanup_arena_ struct arena arena = { 0 };
        char *texts[1000];

        (void)state;
        for (int i = 0; i < 1000; i++)
                texts[i] = arena_printf(&arena, "piece %d of many, long enough to need several blocks", i);
        for (int i = 0; i < 1000; i++) {
                char expected[64];

                snprintf(expected, sizeof expected, "piece %d of many, long enough to need several blocks", i);
                assert_string_equal(texts[i], expected);
        }
}

static void a_piece_may_be_larger_than_any_block(void **state) {
        _cleanup_arena_ struct arena arena = { 0 };
        size_t size = 3u << 20;
        char *p = arena_alloc(&arena, size);

        (void)state;
        p[0] = p[size - 1] = 1;
        assert_string_equal(arena_strdup(&arena, "after"), "after");
}

static void strndup_stops_at_n(void **state) {
        _cleanup_arena_ struct arena arena = { 0 };

        (void)state;
        assert_string_equal(arena_strndup(&arena, "abcdef", 3), "abc");
        assert_string_equal(arena_strndup(&arena, "abcdef", 0), "");
        assert_string_equal(arena_strndup(&arena, NULL, 0), "");
}

static void a_product_that_overflows_is_one_that_nothing_serves(void **state) {
        (void)state;
        assert_int_equal(arena_product(8, 3), 24);
        assert_true(arena_product(SIZE_MAX, 2) >= SIZE_MAX / 2);
        assert_true(arena_product(SIZE_MAX / 8 + 2, 8) >= SIZE_MAX / 2);
}

static void a_freed_arena_can_be_used_again(void **state) {
        struct arena arena = { 0 };

        (void)state;
        arena_strdup(&arena, "first");
        arena_free(&arena);
        arena_free(&arena);
        assert_string_equal(arena_strdup(&arena, "second"), "second");
        arena_free(&arena);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(memory_is_zeroed_and_aligned_for_any_type),
                cmocka_unit_test(earlier_pieces_survive_growth),
                cmocka_unit_test(a_piece_may_be_larger_than_any_block),
                cmocka_unit_test(strndup_stops_at_n),
                cmocka_unit_test(a_product_that_overflows_is_one_that_nothing_serves),
                cmocka_unit_test(a_freed_arena_can_be_used_again),
        };

        return RUN_TESTS(tests);
}
