/* Devices: who makes their nodes, and the rules for those who open them. */
#include "configs.h"

#define DEVICE(members) LINUX("\"devices\":[{\"path\":\"/dev/x\"," members "}]")

/* clang-format off */
static const struct refusal refused[] = {
        { "a device without a number", DEVICE("\"type\":\"c\",\"minor\":1"), "linux.devices[0].major", "required", AS_INVALID },
        { "a device without the other", DEVICE("\"type\":\"b\",\"major\":1"), "linux.devices[0].minor", "required", AS_INVALID },
        { "a major number of 13 bits", DEVICE("\"type\":\"u\",\"major\":4096,\"minor\":0"),
          "linux.devices[0].major", "0 to 4095, found 4096", AS_INVALID },
        { "a minor number below 0", DEVICE("\"type\":\"c\",\"major\":1,\"minor\":-1"), "linux.devices[0].minor", "found -1", AS_INVALID },
        { "a mode of 13 bits", DEVICE("\"type\":\"p\",\"fileMode\":65536"), "linux.devices[0].fileMode", "found 65536", AS_INVALID },
        { "two devices of one name",
          LINUX("\"devices\":[{\"path\":\"/dev/x\",\"type\":\"c\",\"major\":1,\"minor\":1},{\"path\":\"/dev/y\","
          "\"type\":\"p\"}," "{\"path\":\"/dev/x\",\"type\":\"c\",\"major\":1,\"minor\":2}]"),
          "linux.devices[2].path", "another device in linux.devices[0]", AS_INVALID },
        { "a rule without access", RESOURCES("\"devices\":[{\"allow\":true}]"),
          "linux.resources.devices[0].access", "one or more of", AS_INVALID },
        { "a rule for a number below -1", RESOURCES("\"devices\":[{\"allow\":true,\"access\":\"r\",\"type\":\"c\",\"major\":-2}]"),
          "linux.resources.devices[0].major", "found -2", AS_INVALID },
};
/* clang-format on */

static void a_bad_device_or_rule_is_refused_by_the_name_of_its_field(void **state) {
        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(refused); i++)
                must_refuse(&refused[i]);
}

static void nodes_are_made_outside_or_bound_where_mknod_is_impossible(void **state) {
        struct facts_identity weak = root_identity, nested = root_identity;
        struct facts_facts host = root_host;

        (void)state;
        weak.capabilities &= ~(UINT64_C(1) << 27);
        nested.initial_userns = false;
        assert_false(must_compile(PROCESS("\"env\":[]"), &root_host)->bind_devices);
        assert_false(must_compile(USERNS(MAPS), &root_host)->bind_devices);
        assert_true(must_compile(USERNS(MAPS), &root_host)->make_devices);
        assert_false(must_compile(PROCESS("\"env\":[]"), &root_host)->make_devices);
        assert_true(must_compile(USERNS(MAPS), &user_host)->bind_devices);
        assert_false(must_compile(USERNS(MAPS), &user_host)->make_devices);
        host.identity = &weak;
        assert_true(must_compile(PROCESS("\"env\":[]"), &host)->bind_devices);
        host.identity = &nested;
        assert_true(must_compile(PROCESS("\"env\":[]"), &host)->bind_devices);
}

#define NULL_DEVICE(mode) "{\"path\":\"/dev/null\",\"type\":\"c\",\"major\":1,\"minor\":3,\"fileMode\":" #mode "}"

static void a_given_device_takes_the_place_of_a_default_one(void **state) {
        struct plan_plan *plan;

        (void)state;
        plan = must_compile(LINUX("\"devices\":[" NULL_DEVICE(8612) "," NULL_DEVICE(384) "]"), &root_host);
        assert_int_equal(plan->n_devices, 6);
        assert_string_equal(plan->devices[5].path, "/dev/null");
        assert_int_equal(plan->devices[5].mode, 0600);
        plan = must_compile(DEVICE("\"type\":\"c\",\"major\":1,\"minor\":3,\"fileMode\":8612"), &root_host);
        assert_int_equal(plan->devices[6].mode, 0644); /* S_IFCHR taken off */
}

#define OVERRULED RESOURCES("\"devices\":[{\"allow\":true,\"type\":\"c\",\"access\":\"r\"},{\"allow\":false,\"access\":\"rwm\"}]")

static void rules_that_allow_everything_need_no_program(void **state) {
        static const char *const everything[] = {
                "{\"allow\":true,\"access\":\"rwm\"}",
                "{\"allow\":false,\"access\":\"rwm\"},{\"allow\":true,\"type\":\"a\",\"access\":\"mwr\"}",
                "{\"allow\":true,\"access\":\"rwm\"},{\"allow\":true,\"type\":\"c\",\"major\":1,\"access\":\"r\"}",
        };
        static const char *const less[] = {
                "{\"allow\":false,\"access\":\"rwm\"}",
                "{\"allow\":true,\"access\":\"rw\"}",
                "{\"allow\":true,\"type\":\"c\",\"access\":\"rwm\"}",
                "{\"allow\":true,\"access\":\"rwm\"},{\"allow\":false,\"type\":\"b\",\"major\":8,\"access\":\"w\"}",
                "{\"allow\":true,\"access\":\"rwm\"},{\"allow\":false,\"access\":\"rwm\"}",
        };

        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(everything); i++) {
                const char *text = arena_printf(&arena, RESOURCES("\"devices\":[%s]"), everything[i]);
                const struct plan_cgroup *cgroup = must_compile(text, &root_host)->cgroup;

                assert_false(cgroup->limit_devices);
                assert_int_equal(cgroup->n_devices, 0);
        }
        for (size_t i = 0; i < ELEMENTSOF(less); i++)
                assert_true(must_compile(arena_printf(&arena, RESOURCES("\"devices\":[%s]"), less[i]), &root_host)->cgroup->limit_devices);
        /* Rules before one that overrules them all are not carried along. */
        assert_int_equal(must_compile(OVERRULED, &root_host)->cgroup->n_devices, 11);
        /* Without rules a device that was asked for can be used. */
        assert_int_equal(must_compile(DEVICE("\"type\":\"c\",\"major\":10,\"minor\":229"), &root_host)->cgroup->n_devices, 12);
}

static void device_rules_are_for_containers_that_could_make_or_open_nodes(void **state) {
#define DENY ",\"resources\":{\"devices\":[{\"allow\":false,\"access\":\"rwm\"}]}"
        struct facts_identity nested = root_identity;
        struct facts_facts host = root_host;

        (void)state;
        nested.initial_userns = false;
        assert_true(must_compile(USERNS(MAPS DENY), &root_host)->cgroup->limit_devices);
        assert_false(must_compile(USERNS(MAPS DENY), &user_host)->cgroup->limit_devices);
        /* Nothing is dropped for who could not start it anyway. */
        assert_true(must_compile(LINUX("\"sysctl\":{}" DENY), &user_host)->cgroup->limit_devices);
        host.identity = &nested;
        assert_false(must_compile(LINUX("\"sysctl\":{}" DENY), &host)->cgroup->limit_devices);
        assert_int_equal(must_compile(LINUX("\"sysctl\":{}" DENY), &host)->n_warnings, 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(a_bad_device_or_rule_is_refused_by_the_name_of_its_field),
                TEST(nodes_are_made_outside_or_bound_where_mknod_is_impossible),
                TEST(a_given_device_takes_the_place_of_a_default_one),
                TEST(rules_that_allow_everything_need_no_program),
                TEST(device_rules_are_for_containers_that_could_make_or_open_nodes),
        };

        return RUN_TESTS(tests);
}
