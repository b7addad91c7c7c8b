/* /dev, and the masks, which need one of its devices. */
#define _GNU_SOURCE
#include "bundle.h"

#include <sys/sysmacros.h>

/* CVE-2026-41579, CVE-2026-47766 */
CHILD_TEST(a_dev_that_leads_out_of_the_root_is_refused, NEW_ALL) {
        struct plan_plan *plan = bare_plan(scratch, NULL, 0);
        int root;

        plan->devices = default_devices;
        plan->n_devices = 1;
        CHECK(mkdir("outside", 0755) == 0 && symlink("../outside", "root/dev") == 0);
        CHECK_OK(rootfs_prepare(plan, &root, &err));
        CHECK(dev_populate(plan, root, NULL, &err) == -ELOOP);
        CHECK(rmdir("outside") == 0 && access("root/outside", F_OK) < 0);
}

CHILD_TEST(devices_that_exist_must_be_the_right_ones, 0) {
        static struct plan_device devices[] = {
                { .field = "linux.devices[0]",
                        .path = "/dev/mine",
                        .type = S_IFCHR,
                        .major = 1,
                        .minor = 5,
                        .mode = 0640,
                        .uid = 3,
                        .gid = 4 },
                { .path = "/dev/null", .type = S_IFCHR, .major = 1, .minor = 3, .mode = 0666 },
                { .field = "linux.devices[1]", .path = "/dev/net/tun", .type = S_IFCHR, .major = 10, .minor = 200, .mode = 0666 },
                { .field = "linux.devices[2]", .path = "/fifo", .type = S_IFIFO, .mode = 0600 },
        };
        struct plan_plan *plan = bare_plan(scratch, NULL, 0);
        struct stat st;
        int root;

        plan->devices = devices;
        plan->n_devices = 4;
        CHECK(mkdir("root/dev", 0755) == 0);
        CHECK_OK(rootfs_prepare(plan, &root, &err));
        CHECK(mknod("root/dev/null", S_IFCHR | 0600, makedev(1, 3)) == 0 && symlink("elsewhere", "root/dev/stdin") == 0 &&
                mknod("root/dev/ptmx", S_IFREG, 0) == 0);
        CHECK_OK(dev_populate(plan, root, NULL, &err));
        CHECK_OK(dev_populate(plan, root, NULL, &err)); /* and again, over what is there */
        CHECK(stat("root/dev/mine", &st) == 0 && st.st_mode == (S_IFCHR | 0640) && st.st_uid == 3 && st.st_gid == 4);
        CHECK(mode_of("root/dev/null") == (S_IFCHR | 0600) && S_ISLNK(mode_of("root/dev/ptmx")) && S_ISFIFO(mode_of("root/fifo")));
        CHECK(stat("root/dev/net/tun", &st) == 0 && st.st_rdev == makedev(10, 200));
        CHECK(unlink("root/dev/mine") == 0);
        write_text("root/dev/mine", "");
        CHECK(dev_populate(plan, root, NULL, &err) == -EEXIST && strcmp(err.where, "linux.devices[0]") == 0);
        CHECK(unlink("root/dev/mine") == 0 && symlink("null", "root/dev/mine") == 0);
        CHECK(dev_populate(plan, root, NULL, &err) == -EEXIST);
}

/* A read-only /dev of the image: the default devices are done without, a demanded one is an error (runc#3248). */
CHILD_TEST(a_read_only_dev_lacks_only_defaults, 0) {
        static struct plan_device device = {
                .field = "linux.devices[0]", .path = "/dev/mine", .type = S_IFCHR, .major = 1, .minor = 5, .mode = 0600
        };
        struct plan_plan *plan = default_plan(scratch);
        int root;

        plan->n_mounts = 0;
        CHECK(mkdir("root/dev", 0755) == 0 && mount("d", "root/dev", "tmpfs", MS_RDONLY, NULL) == 0);
        CHECK_OK(rootfs_prepare(plan, &root, &err));
        CHECK_OK(dev_populate(plan, root, NULL, &err));
        plan->devices = &device;
        plan->n_devices = 1;
        CHECK(dev_populate(plan, root, NULL, &err) == -EROFS);
}

CHILD_TEST(a_user_namespace_gets_the_hosts_devices, NEW_ALL | CLONE_NEWUSER | CLONE_NEWNS) {
        static struct plan_device wrong = {
                .field = "linux.devices[0]", .path = "/dev/zero", .type = S_IFCHR, .major = 1, .minor = 7, .mode = 0600
        };
        struct plan_plan *plan = default_plan(scratch);
        struct stat st;
        int root;

        plan->has = PLAN_PLAN_HAS_BIND_DEVICES;
        plan->bind_devices = true;
        CHECK_OK(rootfs_prepare(plan, &root, &err));
        CHECK_OK(mounts_attach(plan, root, NULL, &err));
        plan->devices = &wrong;
        plan->n_devices = 1;
        CHECK(dev_populate(plan, root, NULL, &err) == -ENODEV);
        plan->devices = default_devices;
        plan->n_devices = 6;
        CHECK_OK(dev_populate(plan, root, NULL, &err));
        CHECK_OK(masks_apply(plan, root, &err));
        CHECK_OK(rootfs_enter(plan, root, &err));
        CHECK(stat("/dev/null", &st) == 0 && S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3));
        write_text("/dev/null", "can be written");
        CHECK(flags_of("/dev/null") & ST_NOSUID && !(flags_of("/dev/null") & ST_NODEV));
}

/* CVE-2025-31133: the mask is the host's null device even where the container's own is something else. */
CHILD_TEST(masks_come_from_the_host, NEW_ALL) {
        struct plan_plan *plan = default_plan(scratch);
        char source[128];
        struct plan_mount mounts[] = {
                default_mounts[0],
                { .field = "mounts[1]", .destination = "/dev", .kind = BIND, .source = source },
        };
        struct stat st;

        snprintf(source, sizeof source, "%s/evil", scratch);
        CHECK(mkdir("evil", 0755) == 0 && symlink("/proc/sys/kernel/core_pattern", "evil/null") == 0);
        plan->mounts = mounts;
        plan->n_mounts = 2;
        enter_all(plan);
        CHECK(stat("/proc/keys", &st) == 0 && S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3));
        CHECK(count_mounts("core_pattern") == 0 && S_ISLNK(mode_of("/dev/null")) && access("/dev/zero", F_OK) < 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_dev_that_leads_out_of_the_root_is_refused),
                cmocka_unit_test(devices_that_exist_must_be_the_right_ones),
                cmocka_unit_test(a_read_only_dev_lacks_only_defaults),
                cmocka_unit_test(a_user_namespace_gets_the_hosts_devices),
                cmocka_unit_test(masks_come_from_the_host),
        };

        return RUN_TESTS(tests);
}
