/* Deadlines come in the order of their times, however they were set, moved and cleared. */
#include "unit.h"

#include "broker/deadline.h"

enum { N = 200 };

/* A sequence that repeats in every run. */
static uint32_t next(uint32_t *state) {
        *state = *state * 1664525u + 1013904223u;
        return *state >> 8;
}

static uint64_t take_first(struct deadlines *all) {
        struct deadline *first = deadline_first(all);
        uint64_t at = first->at_us;

        deadline_clear(all, first);
        assert_int_equal(first->place, 0);
        return at;
}

static void the_first_is_the_earliest(void **state) {
        struct deadlines all = { 0 };
        struct deadline items[N] = { 0 };
        uint32_t random = 1, left = 0;
        uint64_t last = 0;

        (void)state;
        for (int round = 0; round < 5000; round++) {
                struct deadline *d = &items[next(&random) % N];

                if (next(&random) % 3 == 0)
                        deadline_clear(&all, d);
                else
                        deadline_set(&all, d, next(&random) % 1000);
        }
        for (int i = 0; i < N; i++)
                left += items[i].place != 0;
        assert_int_equal(all.n, left);
        assert_true(left > 50);
        for (; left; left--) {
                uint64_t at = take_first(&all);

                assert_true(at >= last);
                last = at;
        }
        assert_null(deadline_first(&all));
        deadlines_free(&all);
}

static void clearing_what_is_not_set_changes_nothing(void **state) {
        struct deadlines all = { 0 };
        struct deadline a = { 0 }, b = { 0 };

        (void)state;
        deadline_clear(&all, &a);
        deadline_set(&all, &b, 5);
        deadline_clear(&all, &a);
        assert_ptr_equal(deadline_first(&all), &b);
        deadline_set(&all, &a, 4);
        assert_ptr_equal(deadline_first(&all), &a);
        deadline_set(&all, &a, 6);
        assert_ptr_equal(deadline_first(&all), &b);
        deadlines_free(&all);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_first_is_the_earliest),
                cmocka_unit_test(clearing_what_is_not_set_changes_nothing),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
