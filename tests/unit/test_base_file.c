#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/file.h"

static int open_directory(void *const *state) {
        int dir = open(*state, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        assert_true(dir >= 0);
        return dir;
}

static void a_replaced_file_reads_back(void **state) {
        _cleanup_close_ int dir = open_directory(state);
        _cleanup_str_ struct str text = { 0 };
        struct stat st;

        assert_int_equal(file_replace(dir, "status", 0600, "old, and longer", 15), 0);
        assert_int_equal(file_replace(dir, "status", 0600, "new", 3), 0);
        assert_int_equal(file_read(dir, "status", 100, &text), 0);
        assert_string_equal(text.text, "new");
        assert_int_equal(fstatat(dir, "status", &st, 0), 0);
        assert_int_equal(st.st_mode & 07777, 0600);
        assert_int_equal(faccessat(dir, ".status.new", F_OK, 0), -1);
}

static void a_failed_replacement_leaves_the_old_file_and_no_other(void **state) {
        _cleanup_close_ int dir = open_directory(state);

        assert_int_equal(mkdirat(dir, "status", 0700), 0);
        assert_int_equal(mkdirat(dir, "status/in-the-way", 0700), 0);
        assert_true(file_replace(dir, "status", 0600, "new", 3) < 0);
        assert_int_equal(faccessat(dir, "status/in-the-way", F_OK, 0), 0);
        assert_int_equal(faccessat(dir, ".status.new", F_OK, 0), -1);
}

/* Whoever can write to the directory could otherwise have the new file land on any file of the host. */
static void a_planted_link_is_not_followed(void **state) {
        _cleanup_close_ int dir = open_directory(state);
        _cleanup_str_ struct str text = { 0 };

        assert_int_equal(file_replace(dir, "victim", 0600, "whole", 5), 0);
        assert_int_equal(symlinkat("victim", dir, ".status.new"), 0);
        assert_int_equal(file_replace(dir, "status", 0600, "new", 3), -ELOOP);
        assert_int_equal(file_read(dir, "victim", 100, &text), 0);
        assert_string_equal(text.text, "whole");
}

static void a_name_that_is_too_long_is_refused(void **state) {
        _cleanup_close_ int dir = open_directory(state);
        char name[300];

        memset(name, 'n', sizeof name - 1);
        name[sizeof name - 1] = '\0';
        assert_int_equal(file_replace(dir, name, 0600, "x", 1), -ENAMETOOLONG);
}

static void reading_stops_at_the_limit(void **state) {
        _cleanup_close_ int dir = open_directory(state);
        _cleanup_str_ struct str fits = { 0 }, too_long = { 0 };

        assert_int_equal(file_replace(dir, "f", 0600, "12345", 5), 0);
        assert_int_equal(file_read(dir, "f", 5, &fits), 0);
        assert_string_equal(fits.text, "12345");
        assert_int_equal(file_read(dir, "f", 4, &too_long), -EFBIG);
}

static void an_empty_file_is_an_empty_string(void **state) {
        _cleanup_close_ int dir = open_directory(state);
        _cleanup_str_ struct str text = { 0 };

        assert_int_equal(file_replace(dir, "f", 0600, "", 0), 0);
        assert_int_equal(file_read(dir, "f", 100, &text), 0);
        assert_string_equal(text.text, "");
        assert_int_equal(text.size, 0);
}

static void a_large_file_is_read_whole(void **state) {
        _cleanup_close_ int dir = open_directory(state);
        _cleanup_str_ struct str written = { 0 }, text = { 0 };

        for (int i = 0; i < 20000; i++)
                str_printf(&written, "%d ", i);
        assert_int_equal(file_replace(dir, "f", 0600, written.text, written.size), 0);
        assert_int_equal(file_read(dir, "f", 1 << 20, &text), 0);
        assert_string_equal(text.text, written.text);
}

static void write_needs_a_file_that_is_there(void **state) {
        _cleanup_close_ int dir = open_directory(state);
        _cleanup_str_ struct str text = { 0 };

        assert_int_equal(file_write(dir, "f", "x", 1), -ENOENT);
        assert_int_equal(file_replace(dir, "f", 0600, "....", 4), 0);
        assert_int_equal(file_write(dir, "f", "ab", 2), 0);
        assert_int_equal(file_read(dir, "f", 100, &text), 0);
        assert_string_equal(text.text, "ab..");
        assert_int_equal(file_read(dir, "absent", 100, &text), -ENOENT);
}

#define IN_A_DIRECTORY(test) cmocka_unit_test_setup_teardown(test, make_directory, remove_directory)

int main(void) {
        const struct CMUnitTest tests[] = {
                IN_A_DIRECTORY(a_replaced_file_reads_back),
                IN_A_DIRECTORY(a_failed_replacement_leaves_the_old_file_and_no_other),
                IN_A_DIRECTORY(a_planted_link_is_not_followed),
                IN_A_DIRECTORY(a_name_that_is_too_long_is_refused),
                IN_A_DIRECTORY(reading_stops_at_the_limit),
                IN_A_DIRECTORY(an_empty_file_is_an_empty_string),
                IN_A_DIRECTORY(a_large_file_is_read_whole),
                IN_A_DIRECTORY(write_needs_a_file_that_is_there),
        };

        return RUN_TESTS(tests);
}
