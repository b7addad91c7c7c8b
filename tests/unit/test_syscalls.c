/* The table of system calls, beside that of libseccomp. */
#define _GNU_SOURCE
#include "unit.h"

#include <seccomp.h>

#include "base/str.h"
#include "filter_profile.h"
#include "plan/filter_arch.h"

static const struct {
        uint32_t token, first;
        enum syscall_column column;
} columns[] = {
        { SCMP_ARCH_X86_64, 0, SYSCALL_X86_64 },
        { SCMP_ARCH_X32, FILTER_X32_BIT, SYSCALL_X32 },
        { SCMP_ARCH_X86, 0, SYSCALL_I386 },
        { SCMP_ARCH_AARCH64, 0, SYSCALL_AARCH64 },
        { SCMP_ARCH_ARM, 0, SYSCALL_ARM },
};

static void check_number(unsigned i, uint32_t number, int written) {
        char *name = seccomp_syscall_resolve_num_arch(columns[i].token, (int)(number | columns[i].first));
        const struct syscall_row *row = name ? syscall_find(name, NULL) : NULL;

        if (name && !(is_refused(name) && columns[i].column == SYSCALL_X32) && (!row || row->numbers[columns[i].column] != written))
                FAIL("%s: %u on %08x, ours %d", name, number, columns[i].token, row ? row->numbers[columns[i].column] : -1);
        free(name);
}

static void every_call_that_libseccomp_knows_has_its_number(void **state) {
        (void)state;
        for (unsigned i = 0; i < ELEMENTSOF(columns); i++)
                for (uint32_t number = 0; number < 1000; number++)
                        check_number(i, number, (int)number);
        for (uint32_t n = 1; n < 16; n++)
                check_number(4, 0xf0000 + n, SYSCALL_NONE - (int)n);
}

static void a_name_is_found_from_wherever_the_search_begins(void **state) {
        const struct syscall_row *first = syscall_find("_llseek", NULL), *last = syscall_find("writev", NULL);

        (void)state;
        assert_in_range(last - first, 480, 1000);
        for (const struct syscall_row *row = first; row <= last; row++) {
                assert_true(row == first || strcmp(row[-1].name, row->name) < 0);
                assert_ptr_equal(syscall_find(row->name, NULL), row);
                for (const struct syscall_row *before = first; before <= last; before += 7)
                        assert_ptr_equal(syscall_find(row->name, before), row);
        }
        assert_null(syscall_find("", NULL));
        assert_null(syscall_find("zzz", last));
        assert_null(syscall_find("accept5", first));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(every_call_that_libseccomp_knows_has_its_number),
                cmocka_unit_test(a_name_is_found_from_wherever_the_search_begins),
        };

        return RUN_TESTS(tests);
}
