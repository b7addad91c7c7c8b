/* events: lengths of time, and what a container has used as one document. */
#include "unit.h"

#include <errno.h>

#include "cmd/duration.h"
#include "cmd/stats.h"

static void times_are_what_go_reads_and_bare_seconds(void **state) {
        static const struct { const char *text; uint64_t us; } good[] = {
                { "5s", 5000000 }, { "100ms", 100000 }, { "1m30s", 90000000 }, { "1.5s", 1500000 }, { "7", 7000000 }, { "250us", 250 },
                { "250µs", 250 }, { "1000ns", 1 }, { ".5s", 500000 }, { "1.000001s", 1000001 }, { "24h", UINT64_C(86400000000) },
                { "0.1h", 360000000 },
        };
        static const char *const bad[] = { "", "s", "5x", "-5s", "+5s", "5 s", "0", "0s", "999ns", "1m30", "5s ", ".", ".s", "1e3s", 
                                           "24h1s", "99999999999999999999s", "18446744073709551616ns", "1..5s" };
        uint64_t us = 77;

        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(good); i++) {
                assert_int_equal(duration_parse(good[i].text, 86400, &us), 0);
                assert_int_equal(us, good[i].us);
        }
        us = 77;
        for (size_t i = 0; i < ELEMENTSOF(bad); i++)
                assert_int_equal(duration_parse(bad[i], 86400, &us), -EINVAL);
        assert_int_equal(us, 77);
}

struct file { const char *name, *text; };

static const char *read_table(void *data, const char *name) {
        for (const struct file *file = data; file->name; file++)
                if (streq(file->name, name))
                        return file->text;
        return NULL;
}

static void every_file_has_its_place_in_the_document(void **state) {
        static const char *const sizes[] = { "2MB", "1GB", NULL };
        static struct file files[] = {
                { "cpu.stat", "usage_usec 30\nuser_usec 20\nsystem_usec 10\nnr_periods 4\nnr_throttled 3\nthrottled_usec 2\n" },
                { "memory.current", "4096\n" }, { "memory.max", "8192\n" }, { "memory.peak", "5000\n" },
                { "memory.events", "low 0\nhigh 0\nmax 6\noom 1\noom_kill 1\n" },
                { "memory.swap.current", "100\n" }, { "memory.swap.max", "max\n" },
                { "memory.stat", "anon 1\nfile 2\nkernel 3\nsock 4\n" },
                { "pids.current", "2\n" }, { "pids.max", "9\n" },
                { "io.stat", "8:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=5 dios=6\n7:1 \n"
                             "259:3 rbytes=7 wbytes=8 rios=9 wios=10 dbytes=0 dios=0\n" },
                { "hugetlb.2MB.current", "2097152\n" }, { "hugetlb.2MB.events", "max 1\n" },
                { 0 },
        };
        const struct stats_source source = { .read = read_table, .data = files, .huge_page_sizes = sizes };
        _cleanup_str_ struct str out = { 0 };

        (void)state;
        stats_append(&out, &source);
        assert_string_equal(out.text,
                "{\"cpu\":{\"usage\":{\"total\":30000,\"kernel\":10000,\"user\":20000},"
                "\"throttling\":{\"periods\":4,\"throttledPeriods\":3,\"throttledTime\":2000}},"
                "\"memory\":{\"cache\":2,\"usage\":{\"limit\":8192,\"usage\":4096,\"max\":5000,\"failcnt\":6},"
                "\"swap\":{\"limit\":18446744073709551615,\"usage\":4196,\"max\":0,\"failcnt\":0},"
                "\"kernel\":{\"limit\":18446744073709551615,\"usage\":3,\"max\":0,\"failcnt\":0},"
                "\"kernelTCP\":{\"limit\":18446744073709551615,\"usage\":4,\"max\":0,\"failcnt\":0},"
                "\"raw\":{\"anon\":1,\"file\":2,\"kernel\":3,\"sock\":4}},"
                "\"pids\":{\"current\":2,\"limit\":9},"
                "\"blkio\":{\"ioServiceBytesRecursive\":[{\"major\":8,\"minor\":0,\"op\":\"Read\",\"value\":1},"
                "{\"major\":8,\"minor\":0,\"op\":\"Write\",\"value\":2},{\"major\":8,\"minor\":0,\"op\":\"Discard\",\"value\":5},"
                "{\"major\":259,\"minor\":3,\"op\":\"Read\",\"value\":7},{\"major\":259,\"minor\":3,\"op\":\"Write\",\"value\":8},"
                "{\"major\":259,\"minor\":3,\"op\":\"Discard\",\"value\":0}],"
                "\"ioServicedRecursive\":[{\"major\":8,\"minor\":0,\"op\":\"Read\",\"value\":3},"
                "{\"major\":8,\"minor\":0,\"op\":\"Write\",\"value\":4},{\"major\":8,\"minor\":0,\"op\":\"Discard\",\"value\":6},"
                "{\"major\":259,\"minor\":3,\"op\":\"Read\",\"value\":9},{\"major\":259,\"minor\":3,\"op\":\"Write\",\"value\":10},"
                "{\"major\":259,\"minor\":3,\"op\":\"Discard\",\"value\":0}]},"
                "\"hugetlb\":{\"2MB\":{\"usage\":2097152,\"failcnt\":1},\"1GB\":{\"usage\":0,\"failcnt\":0}}}");
}

static void a_class_of_service_is_shown_with_what_it_has_and_what_it_uses(void **state) {
        static const char *const sizes[] = { NULL }, *const domains[] = { "mon_data/mon_L3_00", "mon_data/mon_L3_01", NULL };
        static const struct stats_rdt rdt = { "/r", "/r/gold", "/r/gold/mon_groups/box", domains };
        static struct file files[] = {
                { "/r/info/L3/cbm_mask", "fffff\n" }, { "/r/info/L3/min_cbm_bits", "1\n" }, { "/r/info/L3/num_closids", "4\n" },
                { "/r/info/MB/bandwidth_gran", "10\n" }, { "/r/info/MB/delay_linear", "1\n" },
                { "/r/info/MB/min_bandwidth", "10\n" }, { "/r/info/MB/num_closids", "8\n" },
                { "/r/schemata", "    MB:0=100;1=100\n    L3:0=fffff;1=fffff\n" }, { "/r/gold/schemata", "L2:0=1\n    MB:0=20;1=70\nL3:0=f;1=f0\n" },
                { "/r/gold/mon_groups/box/mon_data/mon_L3_00/mbm_total_bytes", "1000\n" },
                { "/r/gold/mon_groups/box/mon_data/mon_L3_00/mbm_local_bytes", "900\n" },
                { "/r/gold/mon_groups/box/mon_data/mon_L3_00/llc_occupancy", "4096\n" },
                { "/r/gold/mon_groups/box/mon_data/mon_L3_01/mbm_total_bytes", "Unavailable\n" },
                { "/r/gold/mon_groups/box/mon_data/mon_L3_01/mbm_local_bytes", "7\n" },
                { "/r/gold/mon_groups/box/mon_data/mon_L3_01/llc_occupancy", "18446744073709551615\n" },
                { 0 },
        };
        struct stats_source source = { .read = read_table, .data = files, .huge_page_sizes = sizes, .rdt = &rdt };
        _cleanup_str_ struct str out = { 0 }, nothing = { 0 }, whole = { 0 };

        (void)state;
        stats_append_rdt(&out, &source);
        assert_string_equal(out.text,
                "{\"l3_cache_info\":{\"cbm_mask\":\"fffff\",\"min_cbm_bits\":1,\"num_closids\":4},"
                "\"l3_cache_schema_root\":\"L3:0=fffff;1=fffff\",\"l3_cache_schema\":\"L3:0=f;1=f0\","
                "\"mem_bw_info\":{\"bandwidth_gran\":10,\"delay_linear\":1,\"min_bandwidth\":10,\"num_closids\":8},"
                "\"mem_bw_schema_root\":\"MB:0=100;1=100\",\"mem_bw_schema\":\"MB:0=20;1=70\","
                "\"mbm_stats\":[{\"mbm_total_bytes\":1000,\"mbm_local_bytes\":900},{\"mbm_total_bytes\":0,\"mbm_local_bytes\":7}],"
                "\"cmt_stats\":[{\"llc_occupancy\":4096},{\"llc_occupancy\":18446744073709551615}]}");
        stats_append(&whole, &source);
        assert_non_null(strstr(whole.text, "\"hugetlb\":{},\"intel_rdt\":{\"l3_cache_info\":"));
        source.data = &files[ELEMENTSOF(files) - 1];
        stats_append_rdt(&nothing, &source);
        assert_string_equal(nothing.text, "{}");
}

static void a_host_that_counts_nothing_gives_the_same_members(void **state) {
        static const char *const sizes[] = { NULL };
        static struct file files[] = { { 0 } };
        const struct stats_source source = { .read = read_table, .data = files, .huge_page_sizes = sizes };
        _cleanup_str_ struct str out = { 0 };

        (void)state;
        stats_append(&out, &source);
        assert_non_null(strstr(out.text, "\"usage\":{\"limit\":18446744073709551615,\"usage\":0"));
        assert_non_null(strstr(out.text, "\"raw\":{}}"));
        assert_non_null(strstr(out.text, "\"pids\":{\"current\":0,\"limit\":0}"));
        assert_non_null(strstr(out.text, "\"hugetlb\":{}}"));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(times_are_what_go_reads_and_bare_seconds),
                cmocka_unit_test(every_file_has_its_place_in_the_document),
                cmocka_unit_test(a_class_of_service_is_shown_with_what_it_has_and_what_it_uses),
                cmocka_unit_test(a_host_that_counts_nothing_gives_the_same_members),
        };

        return RUN_TESTS(tests);
}
