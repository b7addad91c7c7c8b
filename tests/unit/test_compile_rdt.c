/* linux.intelRdt: what becomes of it, and every bad value by its field. */
#include "configs.h"

#include "facts/facts.h"
#include "plan/rdt.h"

static struct facts_rdt rdt_facts = { .root = "/sys/fs/resctrl", .cache = true, .bandwidth = true, .monitoring = true, .writable = true };

/* The plan of the container ID with RDT as its linux.intelRdt; NULL where it is refused, with ERR. */
static struct plan_rdt *compile_rdt(const char *id, const char *rdt) {
        struct oci_config *oci = arena_new(&arena, struct oci_config);
        struct request request = { .id = id, .bundle = "/b", .config = oci, .manager = PLAN_CGROUP_MANAGER_CGROUPFS };
        struct facts_facts facts = root_host;
        struct plan_plan *plan;

        facts.rdt = &rdt_facts;
        decode(&oci_config_type, arena_printf(&arena, LINUX("\"intelRdt\":%s"), rdt), oci);
        assert_true(compile_needs(&request) & FACTS_RDT);
        return compile(&arena, &request, &facts, &plan, &err) < 0 ? NULL : plan->rdt;
}

static void a_class_without_a_name_has_the_containers(void **state) {
        const struct plan_rdt *rdt = compile_rdt("c1", "{}");

        (void)state;
        assert_non_null(rdt);
        assert_string_equal(rdt->group, "c1");
        assert_string_equal(rdt->root, "/sys/fs/resctrl");
        assert_false(rdt->named || rdt->monitor || rdt->l3_cache_schema || rdt->mem_bw_schema || rdt->n_schemata);
        rdt = compile_rdt("c1", "{\"closID\":\"\",\"l3CacheSchema\":\"\",\"memBwSchema\":\"\"}");
        assert_false(rdt->named || rdt->l3_cache_schema || rdt->mem_bw_schema);
}

static void everything_is_kept(void **state) {
        const struct plan_rdt *rdt = compile_rdt("c1", "{\"closID\":\"gold\",\"l3CacheSchema\":\"L3:0=f\",\"memBwSchema\":\"MB:0=20\","
                                                       "\"schemata\":[\"L2:0=f\",\"L3CODE:0=1\"],\"enableMonitoring\":true}");

        (void)state;
        assert_true(rdt->named && rdt->monitor);
        assert_string_equal(rdt->group, "gold");
        assert_string_equal(rdt->l3_cache_schema, "L3:0=f");
        assert_string_equal(rdt->mem_bw_schema, "MB:0=20");
        assert_string_equal(rdt->schemata[1], "L3CODE:0=1");
        assert_string_equal(compile_rdt("c1", "{\"closID\":\"/\"}")->group, "/");
}

static void a_bad_value_is_refused_by_its_field(void **state) {
        static const struct { const char *id, *rdt, *where, *text; } rows[] = {
                { "c1", "{\"closID\":\".\"}", "closID", "\".\" cannot be" },
                { "c1", "{\"closID\":\"..\"}", "closID", "cannot be" },
                { "c1", "{\"closID\":\"a/b\"}", "closID", "cannot be" },
                { "c1", "{\"closID\":\"../gold\"}", "closID", "cannot be" },
                { "c1", "{\"closID\":\"//\"}", "closID", "cannot be" },
                { "c1", "{\"closID\":\"a\\nb\"}", "closID", "cannot be" },
                { "c1", "{\"closID\":\"info\"}", "closID", "cannot be" },
                { "c1", "{\"closID\":\"mon_groups\"}", "closID", "cannot be" },
                { "c1", "{\"closID\":\"mon_data\"}", "closID", "cannot be" },
                { "info", "{}", "closID", "container's id" },
                { "c1", "{\"memBwSchema\":\"L3:0=f\"}", "memBwSchema", "\"MB:\" at the beginning" },
                { "c1", "{\"memBwSchema\":\"MBA:0=10\"}", "memBwSchema", "\"MB:\" at the beginning" },
                { "c1", "{\"memBwSchema\":\"MB:\"}", "memBwSchema", "such as MB:0=" },
                { "c1", "{\"l3CacheSchema\":\"0=f\"}", "l3CacheSchema", "such as L3:0=" },
                { "c1", "{\"l3CacheSchema\":\"L3\"}", "l3CacheSchema", "such as L3" },
                { "c1", "{\"l3CacheSchema\":\":0=f\"}", "l3CacheSchema", "such as L3" },
                { "c1", "{\"schemata\":[\"L3:0=f\",\"\"]}", "schemata[1]", "such as L3" },
        };
        static char long_name[300];

        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                assert_null(compile_rdt(rows[i].id, rows[i].rdt));
                if (!strstr(err.text, rows[i].text))
                        print_error("row %zu: %s: %s\n", i, err.where, err.text);
                assert_string_equal(err.where, arena_printf(&arena, "linux.intelRdt.%s", rows[i].where));
                assert_non_null(strstr(err.text, rows[i].text));
                assert_int_equal(err.code, CODE_CONFIG_INVALID);
        }
        memset(long_name, 'x', 256);
        assert_null(compile_rdt("c1", arena_printf(&arena, "{\"closID\":\"%s\"}", long_name)));
        assert_non_null(compile_rdt("c1", arena_printf(&arena, "{\"closID\":\"%s\"}", long_name + 1)));
        assert_int_equal(rdt_check_schema("L3:0=f\nMB:0=1", NULL, "f", &err), -EINVAL); /* what update's option could hold */
}

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(a_class_without_a_name_has_the_containers),
                TEST(everything_is_kept),
                TEST(a_bad_value_is_refused_by_its_field),
        };

        return RUN_TESTS(tests);
}
