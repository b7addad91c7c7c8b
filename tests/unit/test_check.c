/* The whole of `check` for recorded hosts, against tests/unit/hosts/NAME.check. SAGE_UPDATE=1 writes those files anew: look at the
 * difference before committing it. */
#define _GNU_SOURCE
#include "hosts.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>

#include "base/fd.h"
#include "base/file.h"
#include "cmd/check_report.h"
#include "spec/check.h"

static int report_on(struct host *host, const struct plan_plan *plan, bool json, struct str *out) {
        _cleanup_close_ int fd = memfd_create("report", MFD_CLOEXEC);
        struct error err = { 0 };
        int r = check_run(host, plan, json, fd, &err);

        if (r < 0)
                print_error("%s: %s\n", err.where, err.text);
        assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
        assert_int_equal(file_read_fd(fd, 1 << 20, out), 0);
        return r;
}

static int report(struct host *host, bool json, struct str *out) {
        return report_on(host, NULL, json, out);
}

static const struct { const char *name; bool ok; } hosts[] = {
        { "build-machine", false },      /* everything but cgroup v2 and quotas */
        { "cgroup-v1-root", false },     /* an old distribution */
        { "debian-hardened-user", false }, /* kernel.unprivileged_userns_clone=0 */
        { "debian-root", true },         /* all there is */
        { "outer-docker", false },       /* root of an ordinary container */
        { "rhel-root", false },          /* SELinux enforcing, XFS without prjquota */
        { "rootless-delegated", false }, /* all but the disk */
        { "rootless-session", false },   /* a login shell */
        { "ubuntu-root", false },        /* AppArmor's restriction does not concern root */
        { "ubuntu-user", false },        /* it does concern a user */
};

static void every_recorded_host_gets_the_table_that_was_looked_at(void **state) {
        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(hosts); i++) {
                _cleanup_arena_ struct arena arena = { 0 };
                _cleanup_str_ struct str found = { 0 }, expected = { 0 };
                const char *path = host_path(&arena, hosts[i].name, ".check");
                struct host host;

                load_host(&arena, hosts[i].name, &host);
                assert_int_equal(report(&host, false, &found), hosts[i].ok ? 0 : 1);
                if (getenv("SAGE_UPDATE"))
                        put_file(path, found.text);
                if (file_read(AT_FDCWD, path, 1 << 20, &expected) < 0)
                        print_error("%s is missing\n", path);
                assert_string_equal(found.text, expected.text);
        }
}

static void json_says_what_the_table_says_and_holds_the_facts(void **state) {
        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(hosts); i++) {
                _cleanup_arena_ struct arena arena = { 0 };
                _cleanup_str_ struct str text = { 0 }, facts = { 0 }, again = { 0 };
                struct check_report decoded;
                struct error err = { 0 };
                struct host host;

                load_host(&arena, hosts[i].name, &host);
                assert_int_equal(report(&host, true, &text), hosts[i].ok ? 0 : 1);
                assert_int_equal(spec_decode(&arena, &check_report_type, "report", text.text, text.size, &decoded, &err), 0);
                assert_int_equal(decoded.scope, CHECK_SCOPE_SANDBOX);
                assert_int_equal(decoded.ok, hosts[i].ok);
                assert_int_equal(decoded.n_missing == 0, hosts[i].ok);
                for (size_t k = 0; k < decoded.n_enforced; k++) {
                        bool missing = false;

                        for (size_t g = 0; g < decoded.n_missing; g++)
                                missing |= streq(decoded.missing[g].limit, decoded.enforced[k].what);
                        assert_int_equal(decoded.enforced[k].enforced, !missing);
                }
                assert_int_equal(facts_print(&host.facts, &facts, &err), 0);
                assert_int_equal(facts_print(decoded.facts, &again, &err), 0);
                assert_string_equal(facts.text, again.text);
        }
}

static void missing_limits_are_the_four_that_hosts_ask_about(void **state) {
        _cleanup_arena_ struct arena arena = { 0 };
        _cleanup_str_ struct str text = { 0 };
        struct host host;

        (void)state;
        load_host(&arena, "outer-docker", &host);
        assert_int_equal(report(&host, true, &text), 1);
        assert_non_null(
                strstr(text.text, "\"missing_limits\": [\n    \"cpu\",\n    \"memory\",\n    \"process_count\",\n    \"disk\"\n  ]"));
}

/* A rootless bundle without limits: a user namespace and no cgroup. */
static void a_bundle_is_held_to_what_it_demands_and_to_no_more(void **state) {
        struct plan_rootfs rootfs = { .path = "/bundle/rootfs" };
        struct plan_namespaces namespaces = { .create = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID };
        struct plan_ids ids = { 0 };
        struct plan_process process = { .cwd = "/" };
        struct plan_cgroup cgroup = { .manager = PLAN_CGROUP_MANAGER_DISABLED };
        const struct plan_plan plan = {
                .id = "box",
                .bundle = "/bundle",
                .rootfs = &rootfs,
                .namespaces = &namespaces,
                .ids = &ids,
                .process = &process,
                .cgroup = &cgroup,
        };
        static const struct {
                const char *host;
                int result;
        } expected[] = { { "rootless-session", 0 }, { "ubuntu-user", 1 }, { "debian-root", 0 } };

        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(expected); i++) {
                _cleanup_arena_ struct arena arena = { 0 };
                _cleanup_str_ struct str text = { 0 };
                struct host host;

                load_host(&arena, expected[i].host, &host);
                assert_int_equal(report_on(&host, &plan, false, &text), expected[i].result);
                assert_non_null(str_after(text.text, "What this bundle demands"));
                assert_non_null(strstr(text.text, "user_namespace"));
                assert_null(strstr(text.text, "disk"));
        }
}

static void this_very_host_can_be_asked(void **state) {
        _cleanup_arena_ struct arena arena = { 0 };
        _cleanup_str_ struct str text = { 0 };
        struct host host = { .arena = &arena };

        (void)state;
        assert_in_range(report(&host, false, &text), 0, 1);
        assert_non_null(strstr(text.text, "user_namespace"));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(every_recorded_host_gets_the_table_that_was_looked_at),
                cmocka_unit_test(json_says_what_the_table_says_and_holds_the_facts),
                cmocka_unit_test(missing_limits_are_the_four_that_hosts_ask_about),
                cmocka_unit_test(a_bundle_is_held_to_what_it_demands_and_to_no_more),
                cmocka_unit_test(this_very_host_can_be_asked),
        };

        return RUN_TESTS(tests);
}
