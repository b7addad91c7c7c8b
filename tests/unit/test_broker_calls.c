/* A table of calls and the filter that it becomes say the same about every call. */
#include "unit.h"

#include "broker/calls.h"
#include "filter_machine.h"

#include <errno.h>
#include <linux/audit.h>
#include <sys/syscall.h>

#if defined(__x86_64__)
#define NATIVE AUDIT_ARCH_X86_64
#define FOREIGN AUDIT_ARCH_I386
#else
#define NATIVE AUDIT_ARCH_AARCH64
#define FOREIGN AUDIT_ARCH_ARM
#endif
#define OTHERWISE (SECCOMP_RET_ERRNO | EPERM)

enum { NUMBERS = 500, TABLES = 300 };

/* A sequence that repeats in every run. */
static uint32_t next(void) {
        static uint32_t state = 1;

        state = state * 1664525u + 1013904223u;
        return state >> 8;
}

/* The table, read as a person would. */
static uint32_t expected(const struct call *rows, size_t n, const struct seccomp_data *data) {
        for (size_t i = 0; i < n; i++) {
                bool fits = rows[i].number == data->nr;

                for (unsigned k = 0; k < rows[i].n_conditions; k++)
                        fits = fits &&
                                ((uint32_t)data->args[rows[i].conditions[k].argument] & rows[i].conditions[k].mask) ==
                                        rows[i].conditions[k].value;
                if (fits)
                        return SECCOMP_RET_ALLOW;
        }
        return OTHERWISE;
}

/* Few calls, arguments, masks and values, so that alternatives of one call have much in common. */
static struct call random_row(int32_t numbers) {
        static const uint32_t masks[] = { ~UINT32_C(0), ~UINT32_C(0), 3, 4 };
        struct call row = { .number = (int32_t)(next() % (uint32_t)numbers), .n_conditions = (uint8_t)(next() % 3) };

        for (unsigned k = 0; k < row.n_conditions; k++) {
                uint32_t mask = masks[next() % 4];

                row.conditions[k] = (struct call_condition){ (uint8_t)(next() % 3), mask, next() % 6 & mask };
        }
        return row;
}

static void check(const struct call *rows, size_t n, const struct sock_filter *code, size_t length) {
        for (int32_t number = 0; number < NUMBERS; number++)
                for (int i = 0; i < 8; i++) {
                        struct seccomp_data data = { .nr = number, .arch = NATIVE, .args = { next() % 6, next() % 6, next() % 6 } };
                        struct filter_run run;

                        data.args[next() % 3] |= UINT64_C(1) << 32; /* which the kernel does not look at, either */
                        run = filter_run(code, length, &data);
                        assert_int_equal(run.verdict, expected(rows, n, &data));
                }
}

static void a_filter_says_what_its_table_says(void **state) {
        (void)state;
        for (int table = 0; table < TABLES; table++) {
                struct sock_filter code[CALLS_INSTRUCTIONS_MAX];
                struct call rows[50];
                size_t n = 1 + next() % 50, length = 0;
                int32_t numbers = 1 + (int32_t)(next() % NUMBERS);
                struct error err;
                int r;

                for (size_t i = 0; i < n; i++)
                        rows[i] = random_row(numbers);
                r = calls_program(rows, n, OTHERWISE, code, &length, &err);
                /* Only a call with very many alternatives has none. */
                if (r < 0 && numbers < 40)
                        continue;
                assert_int_equal(r, 0);
                assert_true(filter_is_sound(code, length));
                check(rows, n, code, length);
        }
}

static void calls_without_conditions_are_told_by_their_number_alone(void **state) {
        static const struct call rows[] = { CALL(read), CALL(write), CALL_IF(ioctl, 1, ~0u, 7), CALL_IF(close, 0, 1, 0), CALL(close) };
        struct sock_filter code[CALLS_INSTRUCTIONS_MAX];
        size_t length;
        struct error err;

        (void)state;
        assert_int_equal(calls_program(rows, 5, OTHERWISE, code, &length, &err), 0);
        for (size_t i = 0; i < 5; i++) {
                struct filter_run run = filter_run(code, length, &(struct seccomp_data){ .nr = rows[i].number, .arch = NATIVE });

                assert_int_equal(run.read_arguments, i == 2);
                assert_int_equal(run.verdict, i == 2 ? OTHERWISE : SECCOMP_RET_ALLOW);
        }
}

static void calls_of_another_architecture_kill(void **state) {
        static const struct call rows[] = { CALL(read) };
        struct sock_filter code[CALLS_INSTRUCTIONS_MAX];
        struct seccomp_data data = { .nr = rows[0].number, .arch = FOREIGN };
        size_t length;
        struct error err;

        (void)state;
        assert_int_equal(calls_program(rows, 1, OTHERWISE, code, &length, &err), 0);
        assert_int_equal(filter_run(code, length, &data).verdict, SECCOMP_RET_KILL_PROCESS);
#if defined(__x86_64__)
        data = (struct seccomp_data){ .nr = rows[0].number | 0x40000000, .arch = NATIVE };
        assert_int_equal(filter_run(code, length, &data).verdict, SECCOMP_RET_KILL_PROCESS);
#endif
}

static void a_table_that_gives_no_filter_is_refused(void **state) {
        static struct call rows[300];
        struct sock_filter code[CALLS_INSTRUCTIONS_MAX];
        size_t length;
        struct error err;

        (void)state;
        assert_true(calls_program(rows, 0, OTHERWISE, code, &length, &err) < 0);
        assert_true(calls_program(rows, 300, OTHERWISE, code, &length, &err) < 0);
        /* One call, and more alternatives than a jump reaches over. */
        for (uint32_t i = 0; i < 150; i++)
                rows[i] = (struct call){ 1, 2, { { i % 2, ~0u, i }, { 2, ~0u, i } } };
        assert_true(calls_program(rows, 150, OTHERWISE, code, &length, &err) < 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_filter_says_what_its_table_says),
                cmocka_unit_test(calls_without_conditions_are_told_by_their_number_alone),
                cmocka_unit_test(calls_of_another_architecture_kill),
                cmocka_unit_test(a_table_that_gives_no_filter_is_refused),
        };

        return RUN_TESTS(tests);
}
