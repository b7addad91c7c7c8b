/* The cgroup: where it is, and limits that nobody can have. */
#include "configs.h"

/* clang-format off */
static const struct refusal refused[] = {
        { "systemd", LINUX("\"resources\":{}"), "linux.cgroupsPath", "systemd", AS_UNSUPPORTED, NULL, PLAN_CGROUP_MANAGER_SYSTEMD },
        { "limits without a cgroup", RESOURCES("\"pids\":{\"limit\":5}"),
          "linux.resources.pids.limit", "disabled", AS_INVALID, NULL, PLAN_CGROUP_MANAGER_DISABLED },
        { "a cgroup above", LINUX("\"cgroupsPath\":\"/a/../b\""), "linux.cgroupsPath", "\"..\"", AS_INVALID },
        { "the root cgroup", LINUX("\"cgroupsPath\":\"//./\""), "linux.cgroupsPath", "below the root", AS_INVALID },
        { "no cgroup in particular", LINUX("\"cgroupsPath\":\"./.\""), "linux.cgroupsPath", "below the root", AS_INVALID, &user_host },
        { "memory below -1", RESOURCES("\"memory\":{\"limit\":-2}"), "linux.resources.memory.limit", "found -2", AS_INVALID },
        { "swap below -1", RESOURCES("\"memory\":{\"swap\":-2}"), "linux.resources.memory.swap", "found -2", AS_INVALID },
        { "swap without memory", RESOURCES("\"memory\":{\"swap\":1}"), "linux.resources.memory.swap", "needs memory.limit", AS_INVALID },
        { "swap below memory", RESOURCES("\"memory\":{\"swap\":1,\"limit\":2}"),
          "linux.resources.memory.swap", "below memory.limit, 2", AS_INVALID },
        { "kernel memory", RESOURCES("\"memory\":{\"kernel\":1}"), "linux.resources.memory.kernel", "cgroup v2", AS_UNSUPPORTED },
        { "TCP memory", RESOURCES("\"memory\":{\"kernelTCP\":1}"), "linux.resources.memory.kernelTCP", "cgroup v2", AS_UNSUPPORTED },
        { "swappiness", RESOURCES("\"memory\":{\"swappiness\":0}"), "linux.resources.memory.swappiness", "cgroup v2", AS_UNSUPPORTED },
        { "no OOM killer", RESOURCES("\"memory\":{\"disableOOMKiller\":true}"),
          "linux.resources.memory.disableOOMKiller", "cgroup v2", AS_UNSUPPORTED },
        { "no hierarchy", RESOURCES("\"memory\":{\"useHierarchy\":false}"),
          "linux.resources.memory.useHierarchy", "cgroup v2", AS_UNSUPPORTED },
        { "a tiny quota", RESOURCES("\"cpu\":{\"quota\":999}"), "linux.resources.cpu.quota", "found 999", AS_INVALID },
        { "a quota below -1", RESOURCES("\"cpu\":{\"quota\":-2}"), "linux.resources.cpu.quota", "found -2", AS_INVALID },
        { "a tiny period", RESOURCES("\"cpu\":{\"period\":999}"), "linux.resources.cpu.period", "found 999", AS_INVALID },
        { "a huge period", RESOURCES("\"cpu\":{\"period\":1000001}"), "linux.resources.cpu.period", "found 1000001", AS_INVALID },
        { "a burst above the quota", RESOURCES("\"cpu\":{\"quota\":1000,\"burst\":1001}"),
          "linux.resources.cpu.burst", "at most cpu.quota, 1000", AS_INVALID },
        { "half idle", RESOURCES("\"cpu\":{\"idle\":2}"), "linux.resources.cpu.idle", "found 2", AS_INVALID },
        { "real time", RESOURCES("\"cpu\":{\"realtimeRuntime\":1}"), "linux.resources.cpu.realtimeRuntime", "cgroup v2", AS_UNSUPPORTED },
        { "its period", RESOURCES("\"cpu\":{\"realtimePeriod\":1}"), "linux.resources.cpu.realtimePeriod", "cgroup v2", AS_UNSUPPORTED },
        { "tasks below -1", RESOURCES("\"pids\":{\"limit\":-2}"), "linux.resources.pids.limit", "found -2", AS_INVALID },
        { "a weight too small", RESOURCES("\"blockIO\":{\"weight\":9}"), "linux.resources.blockIO.weight", "10 to 1000, found 9", AS_INVALID },
        { "a leaf's weight", RESOURCES("\"blockIO\":{\"leafWeight\":10}"), "linux.resources.blockIO.leafWeight", "cgroup v2", AS_UNSUPPORTED },
        { "a device's weight too large", RESOURCES("\"blockIO\":{\"weightDevice\":[{\"major\":8,\"minor\":0,\"weight\":1001}]}"),
          "linux.resources.blockIO.weightDevice[0].weight", "found 1001", AS_INVALID },
        { "a device's leaf's weight", RESOURCES("\"blockIO\":{\"weightDevice\":[{\"major\":8,\"minor\":0,\"leafWeight\":10}]}"),
          "linux.resources.blockIO.weightDevice[0].leafWeight", "cgroup v2", AS_UNSUPPORTED },
        { "a device without a weight", RESOURCES("\"blockIO\":{\"weightDevice\":[{\"major\":8,\"minor\":0}]}"),
          "linux.resources.blockIO.weightDevice[0]", "expected a weight", AS_INVALID },
        { "a network class", RESOURCES("\"network\":{\"classID\":1}"), "linux.resources.network.classID", "cgroup v2", AS_UNSUPPORTED },
        { "a network priority", RESOURCES("\"network\":{\"priorities\":[{\"name\":\"e\",\"priority\":1}]}"),
          "linux.resources.network.priorities", "cgroup v2", AS_UNSUPPORTED },
        { "an RDMA device with more than a name", RESOURCES("\"rdma\":{\"m hca_object=max\":{\"hcaHandles\":1}}"), "linux.resources.rdma[\"m hca_object=max\"]", "the name of a device", AS_INVALID },
        { "CPUs with a second line", RESOURCES("\"cpu\":{\"cpus\":\"0-1\\n2\"}"), "linux.resources.cpu.cpus", "found \"0-1\\x0a2\"", AS_INVALID },
        { "memory nodes that are none", RESOURCES("\"cpu\":{\"mems\":\"all of them\"}"), "linux.resources.cpu.mems", "all of them", AS_INVALID },
        { "an empty RDMA limit", RESOURCES("\"rdma\":{\"m\":{}}"), "linux.resources.rdma[\"m\"]", "hcaHandles or hcaObjects", AS_INVALID },
        { "a file elsewhere", RESOURCES("\"unified\":{\"../memory.max\":\"1\"}"),
          "linux.resources.unified[\"../memory.max\"]", "name of a cgroup file", AS_INVALID },
        { "no file of a controller", RESOURCES("\"unified\":{\"memory\":\"1\"}"),
          "linux.resources.unified[\"memory\"]", "name of a cgroup file", AS_INVALID },
        { "somebody's process", RESOURCES("\"unified\":{\"cgroup.procs\":\"1\"}"),
          "linux.resources.unified[\"cgroup.procs\"]", "no parameter", AS_INVALID },
};
/* clang-format on */

static void a_bad_cgroup_or_limit_is_refused_by_the_name_of_its_field(void **state) {
        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(refused); i++)
                must_refuse(&refused[i]);
}

static void the_cgroup_is_below_the_mount_for_root_and_beside_our_own_for_others(void **state) {
        static const struct {
                const char *asked, *root, *user;
        } rows[] = {
                { "", "/c1", "/user.slice/c1" },
                { "x/y", "/x/y", "/user.slice/x/y" },
                { "/x//y/", "/x/y", "/x/y" },
                { "/./x", "/x", "/x" },
        };

        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                const char *text = arena_printf(&arena, LINUX("\"cgroupsPath\":\"%s\""), rows[i].asked);

                assert_string_equal(must_compile(text, &root_host)->cgroup->path, rows[i].root);
                assert_string_equal(must_compile(text, &user_host)->cgroup->path, rows[i].user);
        }
        cgroup_facts.own = "/";
        assert_string_equal(must_compile(LINUX("\"cgroupsPath\":\"x\""), &user_host)->cgroup->path, "/x");
        cgroup_facts.own = "/user.slice/a.scope";
}

static void a_user_without_a_cgroup_does_without_where_nothing_is_limited(void **state) {
        struct facts_cgroup session = cgroup_facts;
        struct facts_facts user = user_host, root = root_host;
        struct plan_plan *plan;

        (void)state;
        session.writable = false;
        user.cgroup = root.cgroup = &session;
        plan = must_compile(USERNS(MAPS), &user);
        assert_int_equal(plan->cgroup->manager, PLAN_CGROUP_MANAGER_DISABLED);
        assert_null(plan->cgroup->path);
        assert_int_equal(plan->n_warnings, 1); /* there is no pid namespace either */
        plan = must_compile(USERNS(MAPS ",\"cgroupsPath\":\"/x\""), &user);
        assert_int_equal(plan->cgroup->manager, PLAN_CGROUP_MANAGER_DISABLED);
        assert_int_equal(plan->n_warnings, 2);
        plan = must_compile(USERNS(MAPS ",\"resources\":{\"pids\":{\"limit\":-1},\"memory\":{\"limit\":-1}}"), &user);
        assert_int_equal(plan->cgroup->manager, PLAN_CGROUP_MANAGER_DISABLED);
        assert_int_equal(plan->cgroup->n_writes, 0);
        plan = must_compile(USERNS(MAPS ",\"resources\":{\"pids\":{\"limit\":5}}"), &user);
        assert_int_equal(plan->cgroup->manager, PLAN_CGROUP_MANAGER_CGROUPFS);

        session = cgroup_facts;
        session.writable = true;
        session.root = "/user";
        plan = must_compile(USERNS(MAPS ",\"cgroupsPath\":\"/users/x\""), &user);
        assert_int_equal(plan->cgroup->manager, PLAN_CGROUP_MANAGER_DISABLED);
        plan = must_compile(USERNS(MAPS ",\"cgroupsPath\":\"/user/x\""), &user);
        assert_int_equal(plan->cgroup->manager, PLAN_CGROUP_MANAGER_CGROUPFS);
        assert_int_equal(must_compile(USERNS(MAPS), &user_host)->cgroup->manager, PLAN_CGROUP_MANAGER_CGROUPFS);
        assert_int_equal(must_compile(USERNS(MAPS), &root)->cgroup->manager, PLAN_CGROUP_MANAGER_CGROUPFS);
}

static void without_a_cgroup_nothing_is_limited_and_said_so(void **state) {
        const char *text = RESOURCES("\"devices\":[{\"allow\":false,\"access\":\"rwm\"}]");
        struct plan_plan *plan;

        (void)state;
        assert_int_equal(compile_text(text, &root_host, PLAN_CGROUP_MANAGER_DISABLED, &plan), 0);
        assert_null(plan->cgroup->path);
        assert_false(plan->cgroup->limit_devices);
        assert_int_equal(plan->n_warnings, 2); /* the other: there is no pid namespace either */
        assert_string_equal(plan->warnings[0], "linux.resources.devices: has no effect without a cgroup");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(a_bad_cgroup_or_limit_is_refused_by_the_name_of_its_field),
                TEST(the_cgroup_is_below_the_mount_for_root_and_beside_our_own_for_others),
                TEST(a_user_without_a_cgroup_does_without_where_nothing_is_limited),
                TEST(without_a_cgroup_nothing_is_limited_and_said_so),
        };

        return RUN_TESTS(tests);
}
