/* linux.memoryPolicy: the kernel's numbers, and everything that set_mempolicy(2) would refuse, by its field. */
#include "configs.h"

#include "plan/memory_policy.h"

#define CONFIG LINUX("\"memoryPolicy\":{\"mode\":\"MPOL_%s\"%s%s}")
#define NODES(list) ",\"nodes\":\"" list "\""
#define FLAGS(list) ",\"flags\":[" list "]"
#define BALANCING "\"MPOL_F_NUMA_BALANCING\""
#define RELATIVE "\"MPOL_F_RELATIVE_NODES\""
#define STATIC "\"MPOL_F_STATIC_NODES\""

static struct plan_plan *plan;

static int compile_policy(const char *mode, const char *nodes, const char *flags) {
        plan = NULL;
        return compile_text(arena_printf(&arena, CONFIG, mode, nodes, flags), &root_host, PLAN_CGROUP_MANAGER_CGROUPFS, &plan);
}

static void each_mode_and_flag_has_the_kernels_number(void **state) {
        static const struct { const char *mode, *nodes, *flags; uint32_t wanted; size_t n; } rows[] = {
                { "DEFAULT", "", "", 0, 0 },
                { "DEFAULT", NODES(""), FLAGS(""), 0, 0 },
                { "PREFERRED", "", "", 1, 0 },
                { "PREFERRED", NODES("0"), FLAGS(RELATIVE), 1 | 1 << 14, 1 },
                { "BIND", NODES("0-3,7"), FLAGS(STATIC), 2 | 1 << 15, 2 },
                { "BIND", NODES("0"), FLAGS(BALANCING "," STATIC), 2 | 1 << 13 | 1 << 15, 1 },
                { "INTERLEAVE", NODES("0-1023"), "", 3, 1 },
                { "LOCAL", "", "", 4, 0 },
                { "PREFERRED_MANY", NODES("1,2"), FLAGS(BALANCING), 5 | 1 << 13, 2 },
                { "WEIGHTED_INTERLEAVE", NODES("1"), FLAGS(RELATIVE "," RELATIVE), 6 | 1 << 14, 1 },
        };

        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                if (compile_policy(rows[i].mode, rows[i].nodes, rows[i].flags) < 0)
                        print_error("row %zu: %s: %s\n", i, err.where, err.text);
                assert_non_null(plan);
                assert_int_equal(plan->memory_policy->mode, rows[i].wanted);
                assert_int_equal(plan->memory_policy->n_nodes, rows[i].n);
                assert_string_equal(memory_policy_name(plan->memory_policy->mode), arena_printf(&arena, "MPOL_%s", rows[i].mode));
                assert_int_equal(plan->n_warnings, 0);
        }
        assert_string_equal(memory_policy_flag_name(1 << 13), "MPOL_F_NUMA_BALANCING");
        assert_null(memory_policy_flag_name(1));
        assert_null(memory_policy_name(7));
}

static void what_set_mempolicy_refuses_everywhere_is_refused_by_its_field(void **state) {
        static const struct { const char *mode, *nodes, *flags, *where, *text; } rows[] = {
                { "DEFAULT", NODES("0"), "", "nodes", "MPOL_DEFAULT has no nodes" },
                { "LOCAL", NODES("0-7"), "", "nodes", "MPOL_LOCAL has no nodes" },
                { "BIND", "", "", "nodes", "MPOL_BIND needs at least one" },
                { "INTERLEAVE", NODES(""), "", "nodes", "MPOL_INTERLEAVE needs at least one" },
                { "PREFERRED_MANY", "", "", "nodes", "needs at least one" },
                { "WEIGHTED_INTERLEAVE", "", "", "nodes", "needs at least one" },
                { "BIND", NODES("3-1"), "", "nodes", "runs backwards" },
                { "BIND", NODES("1024"), "", "nodes", "up to 1023" },
                { "BIND", NODES("0-999999999"), "", "nodes", "up to 1023" },
                { "BIND", NODES("0"), FLAGS(STATIC "," RELATIVE), "flags", "exclude each other" },
                { "DEFAULT", "", FLAGS(BALANCING), "flags", "the mode is MPOL_DEFAULT" },
                { "PREFERRED", NODES("0"), FLAGS(BALANCING), "flags", "the mode is MPOL_PREFERRED" },
                { "INTERLEAVE", NODES("0"), FLAGS(BALANCING), "flags", "the mode is MPOL_INTERLEAVE" },
                { "WEIGHTED_INTERLEAVE", NODES("0"), FLAGS(BALANCING), "flags", "the mode is" },
                { "LOCAL", "", FLAGS(BALANCING), "flags", "the mode is" },
                { "LOCAL", "", FLAGS(STATIC), "flags", "without nodes" },
                { "PREFERRED", "", FLAGS(RELATIVE), "flags", "without nodes" },
        };

        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                assert_int_equal(compile_policy(rows[i].mode, rows[i].nodes, rows[i].flags), -EINVAL);
                if (!strstr(err.text, rows[i].text))
                        print_error("row %zu: %s: %s\n", i, err.where, err.text);
                assert_string_equal(err.where, arena_printf(&arena, "linux.memoryPolicy.%s", rows[i].where));
                assert_non_null(strstr(err.text, rows[i].text));
                assert_int_equal(err.code, CODE_CONFIG_INVALID);
        }
}

static void the_kernel_ignores_flags_of_the_default_and_so_do_we_with_a_warning(void **state) {
        (void)state;
        assert_int_equal(compile_policy("DEFAULT", "", FLAGS(STATIC)), 0);
        assert_int_equal(plan->n_warnings, 1);
        assert_non_null(strstr(plan->warnings[0], "linux.memoryPolicy.flags"));
}

static void no_policy_is_none(void **state) {
        (void)state;
        assert_int_equal(compile_text("{\"ociVersion\":\"1.3.0\",\"root\":{\"path\":\"r\"},\"process\":{\"cwd\":\"/\","
                                      "\"args\":[\"a\"]},\"linux\":{\"namespaces\":[{\"type\":\"mount\"}]}}",
                                      &root_host, PLAN_CGROUP_MANAGER_CGROUPFS, &plan), 0);
        assert_null(plan->memory_policy);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(each_mode_and_flag_has_the_kernels_number),
                TEST(what_set_mempolicy_refuses_everywhere_is_refused_by_its_field),
                TEST(the_kernel_ignores_flags_of_the_default_and_so_do_we_with_a_warning),
                TEST(no_policy_is_none),
        };

        return RUN_TESTS(tests);
}
