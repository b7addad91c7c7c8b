/* The limit on disk use: how much it is, who could do without it, and when it is met. */
#define _GNU_SOURCE
#include "unit.h"

#include <errno.h>
#include <linux/capability.h>
#include <sched.h>

#include "apply/project_quota.h"
#include "plan/disk.h"

#define MIB (UINT64_C(1) << 20)

static struct sage_resources resources = { .has = SAGE_RESOURCES_HAS_DISK_MB, .disk_mb = 8 };

static void the_smaller_of_two_limits_counts(void **state) {
        struct sage_filesystem filesystem = { .has = SAGE_FILESYSTEM_HAS_MAX_TOTAL_BYTES, .max_total_bytes = 5 * MIB };
        struct sage_request request = { .resources = &resources };

        (void)state;
        assert_int_equal(disk_limit(&request), 8 * MIB);
        request.filesystem = &filesystem;
        assert_int_equal(disk_limit(&request), 5 * MIB);
        filesystem.max_total_bytes = 9 * MIB;
        assert_int_equal(disk_limit(&request), 8 * MIB);
        request.resources = NULL;
        assert_int_equal(disk_limit(&request), 9 * MIB);
        request.filesystem = NULL;
        assert_int_equal(disk_limit(&request), 0);
}

/* What disk_check_process() says of a process with CAPABILITIES, on the host unless it has a user namespace. */
static int check(const struct plan_capabilities *capabilities, uint64_t namespaces, bool initial, struct error *err) {
        static struct sage_request request = { .resources = &resources };
        struct plan_capabilities sets = *capabilities;
        struct plan_process process = { .capabilities = &sets };
        struct plan_namespaces created = { .create = namespaces };
        struct plan_plan plan = { .sage = &request, .namespaces = &created };
        struct facts_identity identity = { .initial_userns = initial };
        struct facts_facts facts = { .identity = &identity };
        struct arena arena = { 0 };
        int r = disk_check_process(&arena, &plan, "process", &facts, &process, err);

        arena_free(&arena);
        return r;
}

static void who_could_change_the_quota_is_refused(void **state) {
        const uint64_t admin = UINT64_C(1) << CAP_SYS_ADMIN, resource = UINT64_C(1) << CAP_SYS_RESOURCE;
        const struct plan_capabilities each[] = {
                { .bounding = admin },
                { .effective = admin },
                { .inheritable = resource },
                { .permitted = resource },
                { .ambient = admin },
        };
        const struct plan_capabilities others = { .bounding = ~(admin | resource), .effective = ~(admin | resource) };
        struct error err = { 0 };

        (void)state;
        for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
                assert_int_equal(check(&each[i], CLONE_NEWNS, true, &err), -EINVAL);
                assert_string_equal(err.where, "process.capabilities");
                assert_int_equal(check(&each[i], CLONE_NEWNS | CLONE_NEWUSER, true, &err), 0);
                assert_int_equal(check(&each[i], CLONE_NEWNS, false, &err), 0);
        }
        assert_int_equal(check(&others, CLONE_NEWNS, true, &err), 0);
        resources.has = 0;
        assert_int_equal(check(&each[0], CLONE_NEWNS, true, &err), 0);
        resources.has = SAGE_RESOURCES_HAS_DISK_MB;
}

static void a_project_is_full_when_a_write_may_not_fit(void **state) {
        struct sage_disk disk = { .used_bytes = 7 * MIB, .limit_bytes = 8 * MIB, .used_inodes = 5, .limit_inodes = 6 };

        (void)state;
        assert_false(project_quota_full(&disk));
        disk.used_bytes++;
        assert_true(project_quota_full(&disk));
        disk = (struct sage_disk){ .used_bytes = 4095 * MIB, .limit_bytes = 4096 * MIB };
        assert_false(project_quota_full(&disk));
        disk.used_bytes += 4096;
        assert_true(project_quota_full(&disk));
        disk = (struct sage_disk){ .used_inodes = 6, .limit_inodes = 6 };
        assert_true(project_quota_full(&disk));
        disk = (struct sage_disk){ .used_bytes = MIB, .used_inodes = 9 };
        assert_false(project_quota_full(&disk));
}

int main(void) {
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_smaller_of_two_limits_counts),
                cmocka_unit_test(who_could_change_the_quota_is_refused),
                cmocka_unit_test(a_project_is_full_when_a_write_may_not_fit),
        };

        return RUN_TESTS(tests);
}
