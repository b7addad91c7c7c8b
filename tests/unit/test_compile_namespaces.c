/* Namespaces, and what is set in them: clocks, names, network devices, sysctls. */
#include "configs.h"

#include <linux/sched.h>

#define DEVICES(members) ALL("", "", ",\"netDevices\":{" members "}", ",{\"type\":\"network\"}")

/* clang-format off */
static const struct refusal refused[] = {
        { "a namespace twice", ALL("", "", "", ",{\"type\":\"pid\"},{\"type\":\"pid\",\"path\":\"/p\"}"),
          "linux.namespaces[2]", "pid namespace is given twice", AS_INVALID },
        { "no mount namespace", HEAD "\"process\":{\"cwd\":\"/\",\"args\":[\"sh\"]},\"linux\":{\"namespaces\":[{\"type\":\"pid\"}]}}",
          "linux.namespaces", "\"mount\" namespace", AS_INVALID },
        { "a joined mount namespace in a new user namespace",
          HEAD "\"process\":{\"cwd\":\"/\",\"args\":[\"sh\"]},\"linux\":{\"namespaces\":[{\"type\":\"mount\",\"path\":\"/n\"},{\"type\":\"user\"}]}}",
          "linux.namespaces", "no rights over the mount namespace /n", AS_UNSUPPORTED },
        { "an unbindable mount in a joined mount namespace",
          HEAD "\"process\":{\"cwd\":\"/\",\"args\":[\"sh\"]},\"linux\":{\"namespaces\":[{\"type\":\"mount\",\"path\":\"/n\"}]},"
          "\"mounts\":[{\"destination\":\"/t\",\"type\":\"tmpfs\",\"options\":[\"unbindable\"]}]}",
          "mounts[0].options", "unbindable", AS_UNSUPPORTED },
        { "clock offsets of the host", LINUX("\"timeOffsets\":{\"monotonic\":{\"secs\":1}}"), "linux.timeOffsets", "host's clocks", AS_INVALID },
        { "clock offsets of others", ALL("", "", ",\"timeOffsets\":{\"boottime\":{\"secs\":1}}", ",{\"type\":\"time\",\"path\":\"/t\"}"),
          "linux.timeOffsets", "offsets already", AS_INVALID },
        { "a clock too far ahead", ALL("", "", ",\"timeOffsets\":{\"boottime\":{\"secs\":9223372037}}", ",{\"type\":\"time\"}"),
          "linux.timeOffsets.boottime.secs", "found 9223372037", AS_INVALID },
        { "a clock too far behind", ALL("", "", ",\"timeOffsets\":{\"monotonic\":{\"secs\":-9223372037}}", ",{\"type\":\"time\"}"),
          "linux.timeOffsets.monotonic.secs", "found -9223372037", AS_INVALID },
        { "the host's name", TOP("\"hostname\":\"h\""), "hostname", "\"uts\" namespace", AS_INVALID },
        { "the host's domain", TOP("\"domainname\":\"d\""), "domainname", "\"uts\" namespace", AS_INVALID },
        { "a name too long",
          ALL("", ",\"hostname\":\"0123456789012345678901234567890123456789012345678901234567890123x\"", "", ",{\"type\":\"uts\"}"),
          "hostname", "at most 64 bytes, found 65", AS_INVALID },
        { "a network device for the host", LINUX("\"netDevices\":{\"eth0\":{}}"), "linux.netDevices", "needs a \"network\" namespace", AS_INVALID },
        { "a network device for a user", DEVICES("\"eth0\":{}"), "linux.netDevices", "rootless", AS_UNSUPPORTED, &user_host },
        { "a network device's name too long", DEVICES("\"0123456789abcdef\":{}"), "linux.netDevices[\"0123456789abcdef\"]", "1 to 15", AS_INVALID },
        { "one with a slash", DEVICES("\"a/b\":{}"), "linux.netDevices[\"a/b\"]", "without '/'", AS_INVALID },
        { "one with a colon", DEVICES("\"a:b\":{}"), "linux.netDevices[\"a:b\"]", "':'", AS_INVALID },
        { "one with a blank", DEVICES("\"a b\":{}"), "linux.netDevices[\"a b\"]", "blanks", AS_INVALID },
        { "one with a line's end", DEVICES("\"a\\n\":{}"), "linux.netDevices[\"a\\x0a\"]", "blanks", AS_INVALID },
        { "a template on the host", DEVICES("\"eth%d\":{}"), "linux.netDevices[\"eth%d\"]", "'%'", AS_INVALID },
        { "this directory", DEVICES("\".\":{}"), "linux.netDevices[\".\"]", "name of a network device", AS_INVALID },
        { "the directory above", DEVICES("\"e\":{\"name\":\"..\"}"), "linux.netDevices[\"e\"].name", "found \"..\"", AS_INVALID },
        { "the host's lo", DEVICES("\"lo\":{\"name\":\"e\"}"), "linux.netDevices[\"lo\"]", "cannot leave", AS_INVALID },
        { "the container's lo", DEVICES("\"e\":{\"name\":\"lo\"}"), "linux.netDevices[\"e\"].name", "lo of its own", AS_INVALID },
        { "a long name inside", DEVICES("\"e\":{\"name\":\"0123456789abcdef\"}"), "linux.netDevices[\"e\"].name", "1 to 15", AS_INVALID },
        { "a bad name inside", DEVICES("\"e\":{\"name\":\"a/b\"}"), "linux.netDevices[\"e\"].name", "found \"a/b\"", AS_INVALID },
        { "another template", DEVICES("\"e\":{\"name\":\"a%s\"}"), "linux.netDevices[\"e\"].name", "at most one \"%d\"", AS_INVALID },
        { "two in a template", DEVICES("\"e\":{\"name\":\"a%d%d\"}"), "linux.netDevices[\"e\"].name", "at most one \"%d\"", AS_INVALID },
        { "two network devices of one name", DEVICES("\"a\":{\"name\":\"e\"},\"e\":{}"), "linux.netDevices[\"e\"]", "and so is a", AS_INVALID },
        { "a sysctl of the host", LINUX("\"sysctl\":{\"kernel.panic\":\"1\"}"),
          "linux.sysctl[\"kernel.panic\"]", "would change the host", AS_INVALID },
        { "a sysctl that is a prefix only", LINUX("\"sysctl\":{\"net.\":\"1\"}"),
          "linux.sysctl[\"net.\"]", "would change the host", AS_INVALID },
        { "a sysctl that climbs", ALL("", "", ",\"sysctl\":{\"net/../kernel/panic\":\"1\"}", ",{\"type\":\"network\"}"),
          "linux.sysctl[\"net/../kernel/panic\"]", "would change the host", AS_INVALID },
        { "a sysctl that climbs with dots", ALL("", "", ",\"sysctl\":{\"net.//.kernel.panic\":\"1\"}", ",{\"type\":\"network\"}"),
          "linux.sysctl[\"net.//.kernel.panic\"]", "would change the host", AS_INVALID },
        { "a sysctl that begins like another", ALL("", "", ",\"sysctl\":{\"kernel.semaphore\":\"1\"}", ",{\"type\":\"ipc\"}"),
          "linux.sysctl[\"kernel.semaphore\"]", "would change the host", AS_INVALID },
        { "the host's network", LINUX("\"sysctl\":{\"net.ipv4.ip_forward\":\"1\"}"),
          "linux.sysctl[\"net.ipv4.ip_forward\"]", "host's network namespace", AS_INVALID },
        { "the host's IPC", LINUX("\"sysctl\":{\"kernel.shmmax\":\"1\"}"),
          "linux.sysctl[\"kernel.shmmax\"]", "host's IPC namespace", AS_INVALID },
        { "the host's queues", LINUX("\"sysctl\":{\"fs/mqueue/msg_max\":\"1\"}"),
          "linux.sysctl[\"fs/mqueue/msg_max\"]", "host's IPC namespace", AS_INVALID },
        { "the host's user namespace", LINUX("\"sysctl\":{\"user.max_user_namespaces\":\"1\"}"),
          "linux.sysctl[\"user.max_user_namespaces\"]", "host's user namespace", AS_INVALID },
        { "the name by sysctl", ALL("", "", ",\"sysctl\":{\"kernel.hostname\":\"x\"}", ",{\"type\":\"uts\"}"),
          "linux.sysctl[\"kernel.hostname\"]", "\"hostname\"", AS_INVALID },
        { "two domains", ALL("", ",\"domainname\":\"a\"", ",\"sysctl\":{\"kernel.domainname\":\"b\"}", ",{\"type\":\"uts\"}"),
          "linux.sysctl[\"kernel.domainname\"]", "differs", AS_INVALID },
};
/* clang-format on */

static void what_is_bad_for_a_namespace_is_refused_by_the_name_of_its_field(void **state) {
        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(refused); i++)
                must_refuse(&refused[i]);
}

static void network_devices_keep_their_name_or_get_another(void **state) {
        const char *text = DEVICES(
                "\"eth1\":{},\"e-th.2\":{\"name\":\"\"},\"0123456789abcde\":{\"name\":\"net%d\"},\"x\":{\"name\":\"net%d\"}");
        const struct plan_plan *plan = must_compile(text, &root_host);

        (void)state;
        assert_int_equal(plan->n_net_devices, 4);
        assert_string_equal(plan->net_devices[0].name, "0123456789abcde");
        assert_string_equal(plan->net_devices[0].inside, "net%d");
        assert_string_equal(plan->net_devices[1].name, "e-th.2");
        assert_null(plan->net_devices[1].inside);
        assert_string_equal(plan->net_devices[2].name, "eth1");
        assert_null(plan->net_devices[2].inside);
        assert_string_equal(plan->net_devices[3].inside, "net%d");
        plan = must_compile(ALL("", "", ",\"netDevices\":{\"e\":{}}", ",{\"type\":\"network\",\"path\":\"/n\"}"), &root_host);
        assert_int_equal(plan->n_net_devices, 1);
}

static void clock_offsets_are_the_lines_that_the_kernel_reads(void **state) {
        const char *offsets = ALL(
                "", "", ",\"timeOffsets\":{\"boottime\":{\"secs\":-7},\"monotonic\":{\"secs\":9,\"nanosecs\":8}}", ",{\"type\":\"time\"}");

        (void)state;
        assert_string_equal(must_compile(offsets, &root_host)->namespaces->time_offsets, "monotonic 9 8\nboottime -7 0\n");
}

#define SYSCTL(members) \
        ALL("", "", ",\"sysctl\":{" members "}", ",{\"type\":\"network\",\"path\":\"/n\"},{\"type\":\"ipc\"},{\"type\":\"uts\"}")

static void sysctls_are_paths_and_name_their_namespace(void **state) {
        static const struct {
                const char *key, *path;
                uint64_t flag;
        } rows[] = {
                { "net.ipv4.conf.eth0/100.forwarding", "net/ipv4/conf/eth0.100/forwarding", CLONE_NEWNET },
                { "net/ipv4/conf/eth0.100/forwarding", "net/ipv4/conf/eth0.100/forwarding", CLONE_NEWNET },
                { "fs.mqueue.msg_max", "fs/mqueue/msg_max", CLONE_NEWIPC },
                { "kernel.sem", "kernel/sem", CLONE_NEWIPC },
        };

        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                const char *text = arena_printf(&arena, SYSCTL("\"%s\":\"1\""), rows[i].key);
                const struct plan_plan *plan = must_compile(text, &root_host);

                assert_string_equal(plan->sysctls[0].key, rows[i].path);
                assert_int_equal(plan->sysctls[0].namespace, rows[i].flag);
        }
}

static void the_sysctl_of_the_domain_name_is_the_member(void **state) {
        const char *text = SYSCTL("\"kernel.domainname\":\"d\",\"kernel.sem\":\"1\"");
        const struct plan_plan *plan = must_compile(text, &root_host);

        (void)state;
        assert_string_equal(plan->domainname, "d");
        assert_int_equal(plan->n_sysctls, 1);
        assert_string_equal(plan->sysctls[0].key, "kernel/sem");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(what_is_bad_for_a_namespace_is_refused_by_the_name_of_its_field),
                TEST(network_devices_keep_their_name_or_get_another),
                TEST(clock_offsets_are_the_lines_that_the_kernel_reads),
                TEST(sysctls_are_paths_and_name_their_namespace),
                TEST(the_sysctl_of_the_domain_name_is_the_member),
        };

        return RUN_TESTS(tests);
}
