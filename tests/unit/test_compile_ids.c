/* The maps of a user namespace, who writes them, and what follows from them. */
#include "configs.h"

#include <linux/sched.h>

#define HUGE_UID "\"uidMappings\":[{\"containerID\":5,\"hostID\":100000,\"size\":4294967295}],\"gidMappings\":" MAP
#define UIDS(ranges) USERNS("\"uidMappings\":[" ranges "],\"gidMappings\":" MAP)

/* clang-format off */
static const struct refusal refused[] = {
        { "maps without a namespace", LINUX(MAPS), "linux.uidMappings", "\"user\" namespace", AS_INVALID },
        { "a namespace without maps", USERNS("\"sysctl\":{}"), "linux.uidMappings", "at least one range", AS_INVALID },
        { "users without groups", USERNS("\"uidMappings\":" MAP), "linux.gidMappings", "at least one range", AS_INVALID },
        { "an id shared inside", UIDS(RANGE(0, 100, 10) "," RANGE(9, 200, 1)), "linux.uidMappings", "share the containerID 9", AS_INVALID },
        { "an id shared outside", UIDS(RANGE(50, 100, 10) "," RANGE(0, 109, 50)), "linux.uidMappings", "share the hostID 109", AS_INVALID },
        { "a range beyond the last id", USERNS(HUGE_UID), "linux.uidMappings[0].size", "found 4294967295", AS_INVALID },
        { "a user without a map", ALL(",\"user\":{\"uid\":65536,\"gid\":0}", "", "," MAPS, ",{\"type\":\"user\"}"),
          "process.user.uid", "65536 is not in", AS_INVALID },
        { "a group without a map", ALL(",\"user\":{\"uid\":0,\"gid\":65536}", "", "," MAPS, ",{\"type\":\"user\"}"),
          "process.user.gid", "65536 is not in", AS_INVALID },
        { "groups without a map", ALL(",\"user\":{\"uid\":0,\"gid\":0,\"additionalGids\":[1,70000]}", "", "," MAPS, ",{\"type\":\"user\"}"),
          "process.user.additionalGids[1]", "70000 is not in", AS_INVALID },
        { "groups that an own map forbids",
          ALL(",\"user\":{\"uid\":0,\"gid\":0,\"additionalGids\":[0]}", "", ",\"uidMappings\":[" RANGE(0, 1000, 1) "],"
          "\"gidMappings\":[" RANGE(0, 1000, 1) "]", ",{\"type\":\"user\"}"),
          "process.user.additionalGids", "/etc/subgid", AS_UNSUPPORTED, &user_host },
        { "devpts' group without a map",
          ALL("", ",\"mounts\":[{\"destination\":\"/dev/pts\",\"type\":\"devpts\",\"options\":[\"newinstance\",\"gid=5\"]}]", ","
          "\"uidMappings\":[" RANGE(0, 1000, 1) "],\"gidMappings\":[" RANGE(0, 1000, 1) "]", ",{\"type\":\"user\"}"),
          "mounts[0].options[1]", "gid=5: this id is not in linux.gidMappings", AS_INVALID, &user_host },
};
/* clang-format on */

static void a_bad_map_or_id_is_refused_by_the_name_of_its_field(void **state) {
        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(refused); i++)
                must_refuse(&refused[i]);
}

static void more_ranges_than_the_kernel_reads_are_refused(void **state) {
        struct oci_config config;
        struct oci_id_mapping many[341];

        (void)state;
        decode(&oci_config_type, USERNS(MAPS), &config);
        for (uint32_t i = 0; i < ELEMENTSOF(many); i++)
                many[i] = (struct oci_id_mapping){ .container_id = i, .host_id = i, .size = 1 };
        config.linux->uid_mappings = many;
        config.linux->n_uid_mappings = 340;
        assert_int_equal(compile_config(&config), 0);
        config.linux->n_uid_mappings = 341;
        assert_int_equal(compile_config(&config), -EINVAL);
        assert_non_null(strstr(err.text, "at most 340 ranges"));

        for (uint32_t i = 0; i < ELEMENTSOF(many); i++)
                many[i] = (struct oci_id_mapping){ .container_id = i ? 1000000000 + i : 0, .host_id = 2000000000 + i, .size = 1 };
        config.linux->n_uid_mappings = 340;
        assert_int_equal(compile_config(&config), -EINVAL);
        assert_non_null(strstr(err.text, "the kernel reads less than 4096"));
        config.linux->n_uid_mappings = 170; /* of 24 bytes */
        assert_int_equal(compile_config(&config), 0);
}

#define ONE(id) "\"uidMappings\":[" RANGE(id, 1000, 1) "],\"gidMappings\":[" RANGE(id, 1000, 1) "]"

static void who_writes_the_id_maps(void **state) {
        struct plan_plan *plan;

        (void)state;
        plan = must_compile(USERNS(MAPS), &root_host);
        assert_false(plan->ids->use_helpers || plan->ids->deny_setgroups);
        plan = must_compile(USERNS(MAPS), &user_host);
        assert_true(plan->ids->use_helpers && !plan->ids->deny_setgroups);
        plan = must_compile(USERNS(ONE(0)), &root_host);
        assert_false(plan->ids->use_helpers || plan->ids->deny_setgroups);
        plan = must_compile(ALL(",\"user\":{\"uid\":7,\"gid\":7}", "", "," ONE(7), ",{\"type\":\"user\"}"), &user_host);
        assert_true(!plan->ids->use_helpers && plan->ids->deny_setgroups);
        /* A map that is joined is known, and nobody writes it. */
        plan = must_compile(ALL("", "", "," MAPS, ",{\"type\":\"user\",\"path\":\"/n\"}"), &user_host);
        assert_int_equal(plan->ids->n_uid_map, 1);
        assert_false(plan->ids->use_helpers || plan->ids->deny_setgroups || plan->namespaces->create & CLONE_NEWUSER);
}

static void a_joined_user_namespace_has_the_maps_that_it_has(void **state) {
        static const char *const without = ALL("", "", "", ",{\"type\":\"user\",\"path\":\"/n\"}");
        static const char *const with = ALL("", "", "," MAPS, ",{\"type\":\"user\",\"path\":\"/n\"}");
        struct facts_id_range ranges[] = { { 0, 100000, 65536 }, { 70000, 5, 1 } };
        struct facts_joined joined = { .path = "/n", .uid_map = ranges, .n_uid_map = 1, .gid_map = ranges, .n_gid_map = 1 };
        struct facts_facts host = root_host;
        struct plan_plan *plan;

        (void)state;
        joined.deny_setgroups = true;
        host.joined = &joined;
        plan = must_compile(without, &host);
        assert_int_equal(plan->ids->n_uid_map, 1);
        assert_int_equal(plan->ids->uid_map[0].outside, 100000);
        assert_true(plan->ids->deny_setgroups);
        assert_false(plan->protect_binary); /* nobody in there is root here */
        must_compile(with, &host);

        joined.n_gid_map = 2;
        plan = must_compile(without, &host);
        assert_int_equal(plan->ids->gid_map[1].inside, 70000);
        assert_true(compile_text(with, &host, PLAN_CGROUP_MANAGER_CGROUPFS, &plan) < 0);
        assert_string_equal(err.where, "linux.gidMappings");
        joined.n_gid_map = 1;
        ranges[0].outside = 100001;
        assert_true(compile_text(with, &host, PLAN_CGROUP_MANAGER_CGROUPFS, &plan) < 0);
        assert_string_equal(err.where, "linux.uidMappings");
}

static void the_binary_is_protected_where_somebody_could_write_it(void **state) {
        (void)state;
        assert_true(must_compile(PROCESS("\"env\":[]"), &root_host)->protect_binary);
        assert_false(must_compile(USERNS(MAPS), &root_host)->protect_binary);
        assert_true(must_compile(UIDS(RANGE(0, 100000, 10) "," RANGE(10, 0, 1)), &root_host)->protect_binary);
        assert_true(must_compile(UIDS(RANGE(0, 100000, 10) "," RANGE(10, 1000, 1)), &user_host)->protect_binary);
        assert_true(must_compile(ALL("", "", "", ",{\"type\":\"user\",\"path\":\"/n\"}"), &root_host)->protect_binary);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(a_bad_map_or_id_is_refused_by_the_name_of_its_field),
                TEST(more_ranges_than_the_kernel_reads_are_refused),
                TEST(who_writes_the_id_maps),
                TEST(a_joined_user_namespace_has_the_maps_that_it_has),
                TEST(the_binary_is_protected_where_somebody_could_write_it),
        };

        return RUN_TESTS(tests);
}
