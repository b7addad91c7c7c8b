/* update: what is written, what is kept, and how it is taken back. */
#include "compile.h"

#include "apply/cgroup_update.h"
#include "cmd/update_options.h"
#include "libocispec/spec.h"
#include "plan/cgroup_update.h"
#include "plan/device_rules.h"
#include "plan/sandbox_update.h"

static const char *text_of(const struct plan_cgroup *cgroup) {
        _cleanup_str_ struct str out = { 0 };

        for (size_t i = 0; i < cgroup->n_writes; i++)
                str_printf(&out, "%s%s=%s", i ? ", " : "", cgroup->writes[i].file, cgroup->writes[i].value);
        return arena_strdup(&arena, out.text ? out.text : "");
}

static const struct oci_linux_resources *resources_of(const char *json) {
        struct oci_linux_resources *resources = arena_new(&arena, struct oci_linux_resources);
        struct error err;

        assert_int_equal(spec_decode(&arena, &oci_linux_resources_type, "resources", json, strlen(json), resources, &err), 0);
        return resources;
}

struct row { const char *before, *update, *writes, *kept; };

static const struct row rows[] = {
        { "{}", "{}", "", "" },
        { "{\"pids\":{\"limit\":5}}", "{}", "", "pids.max=5" },
        { "{\"pids\":{\"limit\":5}}", "{\"pids\":{\"limit\":6}}", "pids.max=6", "pids.max=6" },
        { "{\"pids\":{\"limit\":5}}", "{\"memory\":{\"limit\":7}}", "memory.max=7", "pids.max=5, memory.max=7" },
        /* the other half of cpu.max */
        { "{\"cpu\":{\"quota\":2000,\"period\":9000}}", "{\"cpu\":{\"period\":8000}}", "cpu.max=2000 8000", "cpu.max=2000 8000" },
        { "{\"cpu\":{\"quota\":2000,\"period\":9000}}", "{\"cpu\":{\"quota\":3000}}", "cpu.max=3000 9000", "cpu.max=3000 9000" },
        { "{\"cpu\":{\"quota\":2000,\"period\":9000}}", "{\"cpu\":{\"quota\":-1}}", "cpu.max=max 9000", "cpu.max=max 9000" },
        { "{\"cpu\":{\"quota\":2000}}", "{\"cpu\":{\"period\":8000}}", "cpu.max=2000 8000", "cpu.max=2000 8000" },
        { "{}", "{\"cpu\":{\"period\":8000}}", "cpu.max=max 8000", "cpu.max=max 8000" },
        { "{\"cpu\":{\"quota\":2000}}", "{\"cpu\":{\"shares\":1024}}", "cpu.weight=100", "cpu.max=2000, cpu.weight=100" },
        /* swap counts memory in */
        { "{\"memory\":{\"limit\":5}}", "{\"memory\":{\"swap\":9}}", "memory.max=5, memory.swap.max=4", "memory.max=5, memory.swap.max=4" },
        { "{\"memory\":{\"limit\":5}}", "{\"memory\":{\"swap\":-1}}", "memory.swap.max=max", "memory.max=5, memory.swap.max=max" },
        { "{\"memory\":{\"limit\":5}}", "{\"memory\":{\"limit\":6,\"swap\":9}}", "memory.max=6, memory.swap.max=3",
          "memory.max=6, memory.swap.max=3" },
        /* a line a device */
        { "{\"unified\":{\"io.max\":\"8:0 rbps=1\\n8:1 rbps=2\"}}", "{\"unified\":{\"io.max\":\"8:1 rbps=3\"}}", "io.max=8:1 rbps=3",
          "io.max=8:0 rbps=1, io.max=8:1 rbps=3" },
        { "{\"unified\":{\"io.max\":\"8:0 rbps=1\"}}", "{\"unified\":{\"io.max\":\"8:0 wbps=3\"}}", "io.max=8:0 wbps=3",
          "io.max=8:0 rbps=1, io.max=8:0 wbps=3" },
};

static struct plan_plan plan_for(const char *json) {
        struct plan_plan plan = { .cgroup = arena_new(&arena, struct plan_cgroup) };
        struct error err;

        assert_int_equal(compile_resources(&arena, resources_of(json), "linux.resources", plan.cgroup, &err), 0);
        return plan;
}

static void an_update_overrules_what_it_names_and_keeps_the_rest(void **state) {
        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                struct plan_plan plan = plan_for(rows[i].before);
                struct plan_cgroup *update, *kept;
                struct error err;

                assert_int_equal(cgroup_update_compile(&arena, resources_of(rows[i].update), &plan, NULL, &update, &kept, &err), 0);
                assert_string_equal(text_of(update), rows[i].writes);
                assert_string_equal(text_of(kept), rows[i].kept);
        }
}

static void what_sages_rules_name_stays_as_it_is_while_a_sandbox_lives(void **state) {
        static const struct {
                const char *update, *writes; /* NULL: refused */
        } cases[] = {
                { "{\"memory\":{\"limit\":67108864}}", "" },
                { "{\"memory\":{\"limit\":67108864,\"swap\":67108864}}", "" },
                { "{\"memory\":{\"limit\":67108865}}", NULL },
                { "{\"memory\":{\"limit\":-1}}", NULL },
                { "{\"memory\":{\"limit\":67108864,\"swap\":67108865}}", NULL },
                { "{\"unified\":{\"memory.swap.max\":\"1\"}}", NULL },
                { "{\"cpu\":{\"quota\":50000,\"period\":100000}}", "" },
                { "{\"cpu\":{\"quota\":25000,\"period\":50000}}", "" },
                { "{\"cpu\":{\"quota\":50000}}", "" },
                { "{\"cpu\":{\"quota\":50001}}", NULL },
                { "{\"cpu\":{\"quota\":-1}}", NULL },
                { "{\"cpu\":{\"period\":50000}}", NULL },
                { "{\"pids\":{\"limit\":8}}", "pids.max=8" }, /* they say nothing of it */
                { "{\"cpu\":{\"shares\":1024,\"quota\":50000}}", "cpu.weight=100" },
        };
        struct sage_resources resources = {
                .has = SAGE_RESOURCES_HAS_CPU_PERCENT | SAGE_RESOURCES_HAS_MEMORY_MB, .cpu_percent = 50, .memory_mb = 64,
        };
        struct sage_request request = { .resources = &resources };
        struct plan_plan plan = { .cgroup = arena_new(&arena, struct plan_cgroup), .sage = &request };

        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                struct plan_cgroup *update, *kept;
                struct error err = { 0 };
                int r;

                assert_int_equal(cgroup_update_compile(&arena, resources_of(cases[i].update), &plan, NULL, &update, &kept, &err), 0);
                r = sandbox_update_check(&arena, &plan, update, &err);
                if (cases[i].writes) {
                        assert_int_equal(r, 0);
                        assert_string_equal(text_of(update), cases[i].writes);
                } else if (r == 0 || err.code != CODE_INVALID_STATE || !str_after(err.where, "linux.resources.")) {
                        FAIL("%s: %d, %s: %s", cases[i].update, r, err.where, err.text);
                }
        }
        plan.sage = NULL;
        {
                struct plan_cgroup *update, *kept;
                struct error err;

                assert_int_equal(cgroup_update_compile(&arena, resources_of(cases[2].update), &plan, NULL, &update, &kept, &err), 0);
                assert_int_equal(sandbox_update_check(&arena, &plan, update, &err), 0);
                assert_string_equal(text_of(update), "memory.max=67108865");
        }
}

static void the_memory_check_of_the_container_holds_for_its_updates(void **state) {
        struct plan_plan plan = plan_for("{\"memory\":{\"checkBeforeUpdate\":true}}");
        struct plan_cgroup *update, *kept;
        struct error err;

        (void)state;
        assert_int_equal(cgroup_update_compile(&arena, resources_of("{\"memory\":{\"limit\":5}}"), &plan, NULL, &update, &kept, &err), 0);
        assert_true(update->check_memory);
        assert_int_equal(cgroup_update_compile(&arena, resources_of("{\"memory\":{\"limit\":5,\"checkBeforeUpdate\":false}}"), &plan, NULL,
                                               &update, &kept, &err), 0);
        assert_false(update->check_memory);
}

static void swap_without_any_limit_of_memory_says_nothing(void **state) {
        struct plan_plan plan = plan_for("{}");
        struct plan_cgroup *update = NULL, *kept;
        struct error err;

        (void)state;
        assert_true(cgroup_update_compile(&arena, resources_of("{\"memory\":{\"swap\":9}}"), &plan, NULL, &update, &kept, &err) < 0);
        assert_string_equal(err.where, "linux.resources.memory.swap");
        assert_null(update);
}

/* Returns the update of the plan with device rules BEFORE by UPDATE, a host root's. */
static struct plan_cgroup *update_devices(const char *before, const char *update, struct plan_cgroup **ret_kept) {
        struct facts_identity root = { .capabilities = ~UINT64_C(0), .initial_userns = true };
        struct plan_plan plan = plan_for("{}");
        struct plan_namespaces namespaces = { 0 };
        struct plan_cgroup *changes;
        struct error err;

        plan.namespaces = &namespaces;
        if (before) {
                const struct oci_linux_resources *old = resources_of(before);

                assert_int_equal(device_rules_compile(&arena, old->devices, old->n_devices, NULL, 0, "x", plan.cgroup, &err), 0);
        }
        assert_int_equal(cgroup_update_compile(&arena, resources_of(update), &plan, &root, &changes, ret_kept, &err), 0);
        return changes;
}

static void device_rules_take_the_place_of_those_there_are(void **state) {
        static const char one[] = "{\"devices\":[{\"allow\":false,\"access\":\"rwm\"}]}",
                          all[] = "{\"devices\":[{\"allow\":true,\"access\":\"rwm\"}]}";
        struct plan_cgroup *kept, *update;

        (void)state;
        assert_false(update_devices(one, one, &kept)->has & PLAN_CGROUP_HAS_LIMIT_DEVICES);
        assert_false(update_devices(one, "{}", &kept)->has & PLAN_CGROUP_HAS_LIMIT_DEVICES);
        assert_true(kept->limit_devices);
        update = update_devices(one, all, &kept);
        assert_true(update->has & PLAN_CGROUP_HAS_LIMIT_DEVICES);
        assert_false(update->limit_devices || kept->limit_devices);
        update = update_devices(all, one, &kept);
        assert_true(update->limit_devices && kept->limit_devices);
        assert_int_equal(kept->n_devices, update->n_devices);
}

static void the_old_value_of_a_file_is_found_in_its_text(void **state) {
        static const struct { const char *file, *written, *old, *value; } found[] = {
                { "memory.max", "100", "max\n", "max" },
                { "cpu.max", "max 9000", "2000 8000\n", "2000 8000" },
                { "cpuset.cpus", "0-1", "\n", "\n" },
                { "cpuset.cpus", "0-1", "", "\n" },
                { "io.max", "8:1 rbps=5", "8:0 rbps=1 wbps=max\n8:1 rbps=2 wbps=max\n", "8:1 rbps=2 wbps=max" },
                { "io.max", "8:2 rbps=5", "8:0 rbps=1 wbps=max\n", "8:2 rbps=max wbps=max riops=max wiops=max" },
                { "io.max", "8:0 rbps=5", "8:01 rbps=1\n", "8:0 rbps=max wbps=max riops=max wiops=max" },
                { "io.weight", "50", "default 100\n8:0 7\n", "default 100" },
                { "io.weight", "8:0 50", "default 100\n8:0 7\n", "8:0 7" },
                { "io.weight", "8:1 50", "default 100\n8:0 7\n", "8:1 default" },
                { "rdma.max", "b hca_handle=2", "a hca_handle=max\nb hca_handle=3 hca_object=4\n", "b hca_handle=3 hca_object=4" },
        };

        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(found); i++)
                assert_string_equal(cgroup_old_value(&arena, found[i].file, found[i].written, found[i].old), found[i].value);
        assert_null(cgroup_old_value(&arena, "io.new", "8:0 x", "8:1 y\n"));
}

static void bytes_may_have_a_unit(void **state) {
        static const struct { const char *text; int64_t bytes; } good[] = {
                { "0", 0 }, { "-1", -1 }, { "1", 1 }, { "5b", 5 }, { "5k", 5 << 10 }, { "64m", 64 << 20 }, { "64M", 64 << 20 },
                { "64MB", 64 << 20 }, { "64MiB", 64 << 20 }, { "2g", INT64_C(2) << 30 }, { "3T", INT64_C(3) << 40 },
                { "9223372036854775807", INT64_MAX },
        };
        static const char *const bad[] = { "", "-2", "-1k", "m", "5x", "5mm", "5 m", "5ib", "1.5g",
                                           "9223372036854775808", "8388608t", "0x5", "+5" };
        int64_t bytes = 77;

        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(good); i++) {
                assert_int_equal(update_parse_bytes(good[i].text, &bytes), 0);
                assert_int_equal(bytes, good[i].bytes);
        }
        bytes = 77;
        for (size_t i = 0; i < ELEMENTSOF(bad); i++)
                assert_int_equal(update_parse_bytes(bad[i], &bytes), -EINVAL);
        assert_int_equal(bytes, 77);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(an_update_overrules_what_it_names_and_keeps_the_rest),
                cmocka_unit_test(what_sages_rules_name_stays_as_it_is_while_a_sandbox_lives),
                cmocka_unit_test(the_memory_check_of_the_container_holds_for_its_updates),
                cmocka_unit_test(swap_without_any_limit_of_memory_says_nothing),
                cmocka_unit_test(device_rules_take_the_place_of_those_there_are),
                cmocka_unit_test(the_old_value_of_a_file_is_found_in_its_text),
                cmocka_unit_test(bytes_may_have_a_unit),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
