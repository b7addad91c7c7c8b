#define _GNU_SOURCE
#include "hosts.h"

#include <errno.h>
#include <fcntl.h>

#include "base/file.h"
#include "facts/probe.h"

static void the_cgroup2_line_is_found_among_others(void **state) {
        static const struct { const char *text, *own; } cases[] = {
                { "0::/a/b\n", "/a/b" },
                { "0::/\n", "/" },
                { "12:pids:/x\n1:name=systemd:/0::/y\n0::/z\n", "/z" },
                { "10::/no\n0::/yes\n", "/yes" },
                { "0::/../..\n", "/../.." },
                { "0::/not-all-of-it-ye", NULL },
                { "3:cpu:/\n", NULL },
                { "", NULL },
        };

        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                size_t n = 0;
                const char *line = probe_cgroup_line(cases[i].text, &n);

                if (!cases[i].own) {
                        assert_null(line);
                        continue;
                }
                assert_non_null(line);
                assert_int_equal(n, strlen(cases[i].own));
                assert_memory_equal(line, cases[i].own, n);
        }
}

/* Ids and parents as in a real mountinfo; only what matters differs. */
#define LINE(id, parent, root, point, type) #id " " #parent " 0:5 " root " " point " rw,relatime shared:7 - " type " src rw\n"

static void a_proc_counts_as_covered_by_what_hides_something(void **state) {
        static const struct { const char *text; bool visible; size_t covers; const char *first;
        } cases[] = {
                { LINE(22, 1, "/", "/", "ext4") LINE(30, 22, "/", "/proc", "proc"), true, 0, NULL },
                /* systemd's automount of binfmt_misc lies on a directory that is empty by nature */
                { LINE(30, 22, "/", "/proc", "proc") LINE(31, 30, "/", "/proc/sys/fs/binfmt_misc", "autofs"), true, 0, NULL },
                { LINE(30, 22, "/", "/proc", "proc") LINE(31, 30, "/sys", "/proc/sys", "proc")
                                LINE(32, 30, "/null", "/proc/kcore", "tmpfs"),
                        false, 2, "/proc/sys" },
                /* a second proc elsewhere, in full view, is enough */
                { LINE(30, 22, "/", "/proc", "proc") LINE(31, 30, "/", "/proc/acpi", "tmpfs") LINE(40, 22, "/", "/mnt/proc", "proc"), true,
                        1, "/proc/acpi" },
                /* part of a proc is no proc */
                { LINE(31, 30, "/sys", "/proc/sys", "proc"), false, 0, NULL },
                { LINE(30, 22, "/", "/proc\\040x", "proc") LINE(31, 30, "/", "/proc\\040x/bus", "tmpfs"), false, 1, "/proc x/bus" },
                { "garbage\n\n30 22\n - \n", false, 0, NULL },
                { "", false, 0, NULL },
        };

        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_arena_ struct arena arena = { 0 };
                struct facts_proc proc;

                probe_proc_text(&arena, arena_strdup(&arena, cases[i].text), &proc);
                assert_int_equal(proc.visible, cases[i].visible);
                assert_int_equal(proc.n_covers, cases[i].covers);
                if (cases[i].first)
                        assert_string_equal(proc.covers[0], cases[i].first);
        }
}

static void subids_are_those_of_the_name_or_the_number(void **state) {
        static const char text[] = "alice:100000:65536\n"
                                   "alicex:1:1\n"
                                   "1000:300000:10\n"
                                   "# alice:5:5\n"
                                   "alice:7\n"
                                   "alice:7:8:9\n"
                                   "alice:4294967296:1\n"
                                   "alice:9:0\n"
                                   "alice:-1:1\n"
                                   "alice:500000:5";
        _cleanup_arena_ struct arena arena = { 0 };
        struct facts_id_span *spans;
        size_t n;

        (void)state;
        spans = probe_subids_text(&arena, text, "alice", 1000, &n);
        assert_int_equal(n, 3);
        assert_int_equal(spans[0].start, 100000);
        assert_int_equal(spans[0].count, 65536);
        assert_int_equal(spans[1].start, 300000);
        assert_int_equal(spans[2].start, 500000);
        spans = probe_subids_text(&arena, text, NULL, 1000, &n);
        assert_int_equal(n, 1);
        assert_int_equal(spans[0].start, 300000);
        probe_subids_text(&arena, "", "alice", 1000, &n);
        assert_int_equal(n, 0);
}

static void words_are_cut_at_every_separator(void **state) {
        _cleanup_arena_ struct arena arena = { 0 };
        const char **words;
        size_t n;

        (void)state;
        words = probe_words(&arena, "  cpu io  pids ", " ", &n);
        assert_int_equal(n, 3);
        assert_string_equal(words[0], "cpu");
        assert_string_equal(words[2], "pids");
        assert_null(words[3]);
        words = probe_words(&arena, "", " ", &n);
        assert_int_equal(n, 0);
        assert_non_null(words);
}

static void a_small_file_is_read_without_its_newline_or_not_at_all(void **state) {
        _cleanup_arena_ struct arena arena = { 0 };
        const char *path = arena_printf(&arena, "%s/file", (const char *)*state);
        char text[8];
        uint64_t number;

        assert_int_equal(probe_read(path, text, sizeof text), -ENOENT);
        put_file(path, "123456\n");
        assert_int_equal(probe_read(path, text, sizeof text), 6);
        assert_string_equal(text, "123456");
        assert_int_equal(probe_number(path, &number), 0);
        assert_int_equal(number, 123456);
        put_file(path, "1234567\n");
        assert_int_equal(probe_read(path, text, sizeof text), -EFBIG);
        put_file(path, "");
        assert_int_equal(probe_read(path, text, sizeof text), 0);
        assert_string_equal(text, "");
        assert_int_equal(probe_number(path, &number), -EINVAL);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_cgroup2_line_is_found_among_others),
                cmocka_unit_test(a_proc_counts_as_covered_by_what_hides_something),
                cmocka_unit_test(subids_are_those_of_the_name_or_the_number),
                cmocka_unit_test(words_are_cut_at_every_separator),
                cmocka_unit_test_setup_teardown(a_small_file_is_read_without_its_newline_or_not_at_all, make_directory, remove_directory),
        };

        return RUN_TESTS(tests);
}
