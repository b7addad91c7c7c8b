/* New file systems: where they go, their data, and the views of sysfs and cgroup2 that a container may have. */
#define _GNU_SOURCE
#include "bundle.h"

/* CVE-2019-19921, CVE-2023-27561, CVE-2025-54867 */
CHILD_TEST(proc_and_sys_behind_a_symlink_are_refused, NEW_ALL) {
        struct plan_plan *plan = default_plan(scratch);

        CHECK(mkdir("root/bad", 0755) == 0 && symlink("bad", "root/proc") == 0);
        fail_attach(plan, -ELOOP);
        CHECK(strstr(err.text, "ordinary director") && strstr(err.text, "mounts[0]") && strcmp(err.where, "/proc") == 0);
        CHECK(unlink("root/proc") == 0 && mkdir("root/proc", 0755) == 0 && symlink("bad", "root/sys") == 0);
        fail_attach(plan, -ELOOP);
}

/* runc#4971 */
CHILD_TEST(a_tmpfs_has_the_mode_of_the_directory_that_it_covers, 0) {
        struct plan_mount mounts[] = {
                { .field = "mounts[0]", .destination = "/there", .kind = FILESYSTEM, .type = "tmpfs", .data = "size=64k" },
                { .field = "mounts[1]", .destination = "/new", .kind = FILESYSTEM, .type = "tmpfs" },
                { .field = "mounts[2]", .destination = "/said", .kind = FILESYSTEM, .type = "tmpfs", .data = "size=64k,mode=711" },
                { .field = "mounts[3]", .destination = "/proc", .kind = FILESYSTEM, .type = "proc" },
        };
        struct plan_plan *plan = bare_plan(scratch, mounts, 4);

        CHECK(mkdir("root/there", 0710) == 0 && mkdir("root/said", 0700) == 0 && mkdir("root/proc", 0700) == 0);
        enter_all(plan);
        CHECK(mode_of("/there") == (S_IFDIR | 0710) && mode_of("/new") == (S_IFDIR | 01777) && mode_of("/said") == (S_IFDIR | 0711));
        CHECK(mode_of("/proc") == (S_IFDIR | 0555));
}

CHILD_TEST(a_read_only_tmpfs_is_furnished_first, CLONE_NEWIPC) {
        struct plan_plan *plan = default_plan(scratch);
        struct plan_mount mounts[6];

        memcpy(mounts, default_mounts, sizeof mounts);
        mounts[1].flags |= MS_RDONLY;
        plan->mounts = mounts;
        enter_all(plan);
        CHECK(refuses_write("/dev/x", EROFS) && mode_of("/dev/zero") == (S_IFCHR | 0666) && access("/dev/shm", F_OK) == 0);
        write_text("/dev/shm/x", "");
}

CHILD_TEST(tmpcopyup_takes_the_image_along, 0) {
        struct plan_mount mounts[] = {
                { .field = "mounts[0]", .destination = "/d", .kind = FILESYSTEM, .type = "tmpfs", .copy_up = true, .flags = MS_RDONLY }
        };
        struct plan_plan *plan = bare_plan(scratch, mounts, 1);
        struct timespec old[] = { { .tv_sec = 1000 }, { .tv_sec = 1000, .tv_nsec = 5 } };
        char text[16], name[300];
        struct stat st;

        CHECK(mkdir("root/d", 0750) == 0 && mkdir("root/d/sub", 0701) == 0 && mkdir("root/d/sub/deep", 0755) == 0);
        write_text("root/d/sub/file", "content");
        CHECK(chown("root/d/sub/file", 12, 34) == 0 && chmod("root/d/sub/file", 04751) == 0);
        CHECK(symlink("sub/file", "root/d/link") == 0 && mkfifo("root/d/fifo", 0600) == 0 && symlink("/nowhere", "root/d/dangling") == 0);
        CHECK(utimensat(AT_FDCWD, "root/d/sub/file", old, 0) == 0 && utimensat(AT_FDCWD, "root/d/sub", old, 0) == 0);
        for (int i = 0; i < 200; i++) {
                snprintf(name, sizeof name, "root/d/sub/deep/%0100d", i);
                write_text(name, "x");
        }
        CHECK(mount("m", "root/d/sub/deep", "tmpfs", 0, NULL) == 0);
        write_text("root/d/sub/deep/other", "another file system");
        CHECK(umount2("root/d/sub/deep", MNT_DETACH) == 0);
        enter_all(plan);
        CHECK(mode_of("/d") == (S_IFDIR | 0750) && mode_of("/d/sub") == (S_IFDIR | 0701) && mode_of("/d/fifo") == (S_IFIFO | 0600));
        CHECK(stat("/d/link", &st) == 0 && st.st_mode == (S_IFREG | 04751) && st.st_uid == 12 && st.st_gid == 34 &&
                st.st_mtim.tv_sec == 1000);
        CHECK(stat("/d/sub", &st) == 0 && st.st_mtim.tv_sec == 1000 && st.st_mtim.tv_nsec == 5);
        CHECK(read_text("/d/link", text, sizeof text) == 7 && S_ISLNK(mode_of("/d/dangling")));
        snprintf(name, sizeof name, "/d/sub/deep/%0100d", 199);
        CHECK(access(name, F_OK) == 0 && refuses_write("/d/x", EROFS));
}

CHILD_TEST(a_mount_goes_where_earlier_ones_have_led, 0) {
        char source[128];
        struct plan_mount mounts[] = {
                { .field = "mounts[0]", .destination = "/t", .kind = FILESYSTEM, .type = "tmpfs" },
                { .field = "mounts[1]", .destination = "/t/a", .kind = FILESYSTEM, .type = "tmpfs" },
                { .field = "mounts[2]", .destination = "/t", .kind = BIND, .source = source },
                { .field = "mounts[3]", .destination = "/t/b", .kind = FILESYSTEM, .type = "tmpfs" },
                { .field = "mounts[4]", .destination = "/t/b/c/d", .kind = FILESYSTEM, .type = "tmpfs" },
        };
        struct plan_plan *plan = bare_plan(scratch, mounts, 5);
        struct stat outer, b, d;

        snprintf(source, sizeof source, "%s/source", scratch);
        CHECK(mkdir("source", 0755) == 0 && symlink("/elsewhere", "source/b") == 0);
        enter_all(plan);
        CHECK(S_ISLNK(mode_of("/t/b")) && access("/t/a", F_OK) < 0);
        write_text("/elsewhere/c/d/x", "");
        CHECK(stat("/", &outer) == 0 && stat("/elsewhere", &b) == 0 && stat("/elsewhere/c/d", &d) == 0);
        CHECK(outer.st_dev != b.st_dev && b.st_dev != d.st_dev);
}

CHILD_TEST(sysfs_without_a_network_namespace_is_the_hosts_read_only, CLONE_NEWUSER | CLONE_NEWNS) {
        struct plan_plan *plan = bare_plan(scratch, &default_mounts[5], 1);

        enter_all(plan);
        CHECK(access("/sys/class/net", F_OK) == 0 && flags_of("/sys") & ST_RDONLY && flags_of("/sys/fs/cgroup") & ST_RDONLY);
        CHECK(refuses_write("/sys/fs/cgroup/new", EROFS) || refuses_write("/sys/fs/cgroup/new", EACCES));
}

/* CVE-2023-25809 */
CHILD_TEST(without_a_cgroup_namespace_only_the_own_cgroup_shows_read_only, 0) {
        struct plan_mount mounts[] = {
                { .field = "mounts[0]", .destination = "/cg", .kind = PLAN_MOUNT_KIND_CGROUP, .type = "cgroup", .flags = VIEW }
        };
        struct plan_plan *plan = bare_plan(scratch, mounts, 1);
        struct stat host, ours;
        char name[64], path[128];
        int status;

        if (mount("cgroup2", "/sys/fs/cgroup", "cgroup2", 0, NULL) < 0 && errno != EBUSY) /* EBUSY: it is there already */
                _exit(SKIPPED);
        snprintf(name, sizeof name, "/sage-unit-%d", getpid());
        snprintf(path, sizeof path, "/sys/fs/cgroup%s", name);
        CHECK(mkdir(path, 0755) == 0 && stat(path, &host) == 0);
        cgroup.path = name;
        if (fork_child() == 0) {
                CHECK(unshare(CLONE_NEWNS) == 0);
                enter_all(plan);
                CHECK(stat("/cg", &ours) == 0 && ours.st_ino == host.st_ino && flags_of("/cg") & ST_RDONLY && mkdir("/cg/x", 0755) < 0 &&
                        errno == EROFS);
                _exit(0);
        }
        CHECK(wait(&status) > 0);
        CHECK(rmdir(path) == 0);
        CHECK(status == 0);
        cgroup.path = NULL; /* no cgroup of ours: the one that we are in */
        enter_all(plan);
        CHECK(flags_of("/cg") & ST_RDONLY && access("/cg/cgroup.procs", F_OK) == 0);
}

CHILD_TEST(a_cgroup_namespace_gets_cgroup2, CLONE_NEWCGROUP) {
        struct plan_mount mounts[] = {
                { .field = "mounts[0]", .destination = "/cg", .kind = PLAN_MOUNT_KIND_CGROUP, .type = "cgroup", .flags = VIEW | MS_RDONLY }
        };
        struct plan_plan *plan = bare_plan(scratch, mounts, 1);

        namespaces.create = CLONE_NEWCGROUP;
        enter_all(plan);
        CHECK(access("/cg/cgroup.procs", F_OK) == 0 && flags_of("/cg") & ST_RDONLY);
}

CHILD_TEST(options_for_a_file_system_are_put_together, 0) {
        static const struct {
                const char *type, *data;
                int mode;
                const char *label, *expected, *context;
        } cases[] = {
                { "tmpfs", NULL, -1, NULL, NULL },
                { "tmpfs", NULL, 0710, NULL, "mode=710" },
                { "tmpfs", "size=1k", 0, "a:b", "size=1k,mode=0,context=\"a:b\"" },
                { "tmpfs", "context=x", -1, "a:b", "context=x" },
                { "proc", "hidepid=2", -1, "a:b", "hidepid=2" },
                { "proc", NULL, -1, "a:b", NULL },
                { "tmpfs", NULL, -1, "a:b", "rootcontext=\"a:b\"", "rootcontext" },
                { "tmpfs", "context=x", -1, "a:b", "context=x,defcontext=\"a:b\"", "defcontext" },
        };
        char buffer[64];
        const char *data;

        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
                const struct plan_rootfs rootfs = { .mount_label = cases[i].label, .mount_context = cases[i].context };

                CHECK(mount_data(cases[i].type, cases[i].data, cases[i].mode, &rootfs, buffer, sizeof buffer, &data) == 0);
                CHECK(cases[i].expected ? data && strcmp(data, cases[i].expected) == 0 : !data);
        }
        CHECK(mount_data("tmpfs", "size=1k", 0710, &(struct plan_rootfs){ .mount_label = "a:b" }, buffer, 20, &data) == -E2BIG);
        (void)scratch;
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(proc_and_sys_behind_a_symlink_are_refused),
                cmocka_unit_test(a_tmpfs_has_the_mode_of_the_directory_that_it_covers),
                cmocka_unit_test(a_read_only_tmpfs_is_furnished_first),
                cmocka_unit_test(tmpcopyup_takes_the_image_along),
                cmocka_unit_test(a_mount_goes_where_earlier_ones_have_led),
                cmocka_unit_test(sysfs_without_a_network_namespace_is_the_hosts_read_only),
                cmocka_unit_test(without_a_cgroup_namespace_only_the_own_cgroup_shows_read_only),
                cmocka_unit_test(a_cgroup_namespace_gets_cgroup2),
                cmocka_unit_test(options_for_a_file_system_are_put_together),
        };

        return RUN_TESTS(tests);
}
