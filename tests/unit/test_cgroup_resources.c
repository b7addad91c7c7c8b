/* linux.resources in the words of cgroup v2: each row is what one object becomes. */
#include "compile.h"

#include "plan/cpu_weight.h"

struct row {
        const char *resources;
        const char *writes;      /* "FILE=VALUE" each, '?' behind an optional one's file, "FILE=VALUE|FILE=VALUE" for the other choice */
        const char *controllers;
};

static const struct row rows[] = {
        { "", "", "" },
        { "\"memory\":{\"limit\":0,\"swap\":0}", "memory.swap.max?=0", "memory" },
        { "\"memory\":{\"limit\":1048576}", "memory.max=1048576", "memory" },
        { "\"memory\":{\"limit\":-1,\"reservation\":-1,\"swap\":-1}", "memory.max?=max memory.low=max memory.swap.max?=max", "memory" },
        { "\"memory\":{\"limit\":3,\"swap\":3}", "memory.max=3 memory.swap.max?=0", "memory" },
        { "\"memory\":{\"limit\":3,\"swap\":5,\"reservation\":0}", "memory.max=3 memory.low?=0 memory.swap.max=2", "memory" },
        { "\"memory\":{\"limit\":-1,\"swap\":5}", "memory.max?=max memory.swap.max=5", "memory" },
        { "\"memory\":{\"kernel\":-1,\"kernelTCP\":0,\"disableOOMKiller\":false,\"useHierarchy\":true}", "", "" },
        { "\"cpu\":{\"shares\":0,\"quota\":0,\"period\":0,\"cpus\":\"\",\"mems\":\"\",\"realtimePeriod\":0,\"realtimeRuntime\":-1}", "",
          "" },
        { "\"cpu\":{\"shares\":1024}", "cpu.weight=100", "cpu" },
        { "\"cpu\":{\"shares\":18446744073709551615}", "cpu.weight=10000", "cpu" },
        { "\"cpu\":{\"quota\":-1}", "cpu.max?=max", "" },
        { "\"cpu\":{\"quota\":2000}", "cpu.max=2000", "cpu" },
        { "\"cpu\":{\"period\":2000}", "cpu.max?=max_2000", "" },
        { "\"cpu\":{\"quota\":1000,\"period\":1000000,\"burst\":1000}", "cpu.max=1000_1000000 cpu.max.burst=1000", "cpu" },
        { "\"cpu\":{\"burst\":0}", "cpu.max.burst?=0", "" },
        { "\"cpu\":{\"idle\":0,\"shares\":2}", "cpu.idle?=0 cpu.weight=1", "cpu" },
        { "\"cpu\":{\"idle\":1,\"shares\":2}", "cpu.idle=1", "cpu" },
        { "\"cpu\":{\"cpus\":\"0-3,7\",\"mems\":\"0\"}", "cpuset.cpus=0-3,7 cpuset.mems=0", "cpuset" },
        { "\"pids\":{\"limit\":-1}", "pids.max?=max", "" },
        { "\"pids\":{\"limit\":0}", "pids.max=1", "pids" },
        { "\"pids\":{\"limit\":9223372036854775807}", "pids.max=9223372036854775807", "pids" },
        { "\"pids\":{}", "", "" },
        { "\"blockIO\":{\"weight\":0,\"leafWeight\":0}", "", "" },
        { "\"blockIO\":{\"weight\":10}", "io.bfq.weight=10|io.weight=1", "io" },
        { "\"blockIO\":{\"weight\":1000}", "io.bfq.weight=1000|io.weight=10000", "io" },
        { "\"blockIO\":{\"weightDevice\":[{\"major\":8,\"minor\":16,\"weight\":100}]}", "io.bfq.weight=8:16_100|io.weight=8:16_910", "io" },
        { "\"blockIO\":{\"throttleReadBpsDevice\":[{\"major\":8,\"minor\":0,\"rate\":5}],\"throttleWriteBpsDevice\":[{\"major\":8,"
          "\"minor\":1,\"rate\":6}],"
          "\"throttleReadIOPSDevice\":[{\"major\":8,\"minor\":2,\"rate\":7}],\"throttleWriteIOPSDevice\":[{\"major\":8,\"minor\":3,"
          "\"rate\":0}]}",
          "io.max=8:0_rbps=5 io.max=8:1_wbps=6 io.max=8:2_riops=7 io.max?=8:3_wiops=max", "io" },
        { "\"hugepageLimits\":[{\"pageSize\":\"2MB\",\"limit\":4}]", "hugetlb.2MB.max=4 hugetlb.2MB.rsvd.max?=4", "hugetlb" },
        { "\"rdma\":{\"b\":{\"hcaObjects\":2},\"a\":{\"hcaHandles\":1}}", "rdma.max=a_hca_handle=1 rdma.max=b_hca_object=2", "rdma" },
        { "\"network\":{\"classID\":0,\"priorities\":[]}", "", "" },
        { "\"unified\":{\"misc.max\":\"res_a 1\",\"cgroup.max.depth\":\"3\",\"io.max\":\"8:0 rbps=1\\n\\n8:1 rbps=2\\n\"}",
          "cgroup.max.depth=3 io.max=8:0_rbps=1 io.max=8:1_rbps=2 misc.max=res_a_1", "io misc" },
        { "\"unified\":{\"memory.high\":\"max\",\"pids.max\":\"max\",\"io.max\":\"8:0 rbps=max wbps=1\"}",
          "io.max=8:0_rbps=max_wbps=1 memory.high?=max pids.max?=max", "io" },
        { "\"memory\":{\"limit\":5},\"unified\":{\"memory.max\":\"7\"}", "memory.max=5 memory.max=7", "memory" },
};

static char *without_blanks(const char *text) {
        char *copy = arena_strdup(&arena, text);

        for (char *p = copy; *p; p++)
                if (*p == ' ')
                        *p = '_';
        return copy;
}

static void each_object_becomes_these_writes(void **state) {
        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                struct oci_linux_resources resources;
                _cleanup_str_ struct str writes = { 0 }, controllers = { 0 };
                struct plan_cgroup cgroup = { 0 };

                decode(&oci_linux_resources_type, arena_printf(&arena, "{%s}", rows[i].resources), &resources);
                if (compile_resources(&arena, &resources, "r", &cgroup, &err) < 0) {
                        print_error("%s: %s: %s\n", rows[i].resources, err.where, err.text);
                        abort();
                }
                for (size_t k = 0; k < cgroup.n_writes; k++) {
                        const struct plan_cgroup_write *w = &cgroup.writes[k];

                        str_printf(&writes, "%s%s%s=%s", k ? " " : "", w->file, w->optional ? "?" : "", without_blanks(w->value));
                        if (w->else_file)
                                str_printf(&writes, "|%s=%s", w->else_file, without_blanks(w->else_value));
                }
                for (size_t k = 0; k < cgroup.n_controllers; k++)
                        str_printf(&controllers, "%s%s", k ? " " : "", cgroup.controllers[k]);
                if (!streq(writes.text ?: "", rows[i].writes) || !streq(controllers.text ?: "", rows[i].controllers)) {
                        print_error("%s\n gave      %s [%s]\n and not   %s [%s]\n", rows[i].resources, writes.text ?: "",
                                    controllers.text ?: "", rows[i].writes, rows[i].controllers);
                        abort();
                }
                assert_int_equal(cgroup.n_accounting, 4);
        }
}

static void an_update_says_when_use_must_be_looked_at(void **state) {
        struct oci_linux_resources resources;
        struct plan_cgroup cgroup = { 0 };

        (void)state;
        decode(&oci_linux_resources_type,
               "{\"memory\":{\"limit\":5,\"checkBeforeUpdate\":true},\"devices\":[{\"allow\":false,\"access\":\"rwm\"}]}", &resources);
        assert_int_equal(compile_resources(&arena, &resources, "r", &cgroup, &err), 0);
        assert_true(cgroup.check_memory);
        assert_true(cgroup.limit_devices);
        assert_int_equal(compile_resources(&arena, NULL, "r", &cgroup, &err), 0);
        assert_int_equal(cgroup.n_writes, 0);
}

/* The sum (FNV-1a over the numbers) of what the formula, ceil(10^((l² + 125 l)/612 - 7/34)) with l = log2(shares), gives in IEEE doubles
 * with a correct pow() and log2(), over every number of shares there is. */
static void cpu_weight_is_the_formula_for_every_number_of_shares(void **state) {
        uint64_t hash = UINT64_C(1469598103934665603);

        (void)state;
        for (uint64_t shares = 0; shares < 262146; shares++)
                hash = (hash ^ cpu_weight(shares)) * UINT64_C(1099511628211);
        assert_true(hash == UINT64_C(6136842373839760968));
        assert_int_equal(cpu_weight(2), 1);
        assert_int_equal(cpu_weight(512), 59);
        assert_int_equal(cpu_weight(1024), 100);
        assert_int_equal(cpu_weight(262144), 10000);
        assert_int_equal(cpu_weight(UINT64_MAX), 10000);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(each_object_becomes_these_writes),
                TEST(an_update_says_when_use_must_be_looked_at),
                TEST(cpu_weight_is_the_formula_for_every_number_of_shares),
        };

        return RUN_TESTS(tests);
}
