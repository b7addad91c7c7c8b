/* Binds: where they come from, where they go, and their options. */
#define _GNU_SOURCE
#include "bundle.h"

#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>

/* CVE-2019-18837 */
CHILD_TEST(a_destination_behind_a_symlink_stays_in_the_root, 0) {
        char source[128], link[128];
        struct plan_mount mounts[] = { { .field = "mounts[0]", .destination = "/x/new/file", .kind = BIND, .source = source } };
        struct plan_plan *plan = bare_plan(scratch, mounts, 1);
        char text[16];

        snprintf(source, sizeof source, "%s/source", scratch);
        snprintf(link, sizeof link, "%s/outside", scratch);
        write_text("source", "hello");
        CHECK(mkdir("outside", 0755) == 0 && symlink(link, "root/x") == 0);
        enter_all(plan);
        CHECK(read_text("/x/new/file", text, sizeof text) == 5);
        snprintf(text, sizeof text, "%s", "");
        CHECK(strlen(link) > 0 && access(link, F_OK) == 0);
}

CHILD_TEST(a_bind_of_a_file_goes_over_a_dangling_link, 0) {
        char source[128], text[16];
        struct plan_mount mounts[] = { { .field = "mounts[0]", .destination = "/etc/localtime", .kind = BIND, .source = source } };
        struct plan_plan *plan = bare_plan(scratch, mounts, 1);

        snprintf(source, sizeof source, "%s/source", scratch);
        write_text("source", "zone");
        CHECK(mkdir("root/etc", 0755) == 0 && symlink("/usr/share/zoneinfo/x", "root/etc/localtime") == 0);
        enter_all(plan);
        CHECK(read_text("/usr/share/zoneinfo/x", text, sizeof text) == 4);
}

CHILD_TEST(a_file_does_not_go_on_a_directory, 0) {
        char source[128];
        struct plan_mount mounts[] = { { .field = "mounts[0]", .destination = "/d", .kind = BIND, .source = source } };
        struct plan_plan *plan = bare_plan(scratch, mounts, 1);

        snprintf(source, sizeof source, "%s/source", scratch);
        write_text("source", "");
        CHECK(mkdir("root/d", 0755) == 0);
        fail_attach(plan, -ENOTDIR);
        CHECK(strstr(err.text, "directory") && strcmp(err.where, "mounts[0]") == 0);
}

CHILD_TEST(binds_get_their_options_and_keep_the_sources, 0) {
        char source[128];
        struct plan_mount mounts[] = {
                { .field = "mounts[0]", .destination = "/plain", .kind = BIND, .source = source, .attributes_set = MOUNT_ATTR_RDONLY },
                { .field = "mounts[1]",
                        .destination = "/all",
                        .kind = BIND,
                        .source = source,
                        .recursive = true,
                        .recursive_set = MOUNT_ATTR_RDONLY },
                { .field = "mounts[2]",
                        .destination = "/one",
                        .kind = BIND,
                        .source = source,
                        .recursive = true,
                        .attributes_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOATIME },
                { .field = "mounts[3]",
                        .destination = "/exec",
                        .kind = BIND,
                        .source = source,
                        .attributes_clear = MOUNT_ATTR_NOEXEC | MOUNT_ATTR_NODEV },
        };
        struct plan_plan *plan = bare_plan(scratch, mounts, 4);

        snprintf(source, sizeof source, "%s/source", scratch);
        CHECK(mkdir("source", 0755) == 0 && mount("s", "source", "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=755") == 0);
        CHECK(mkdir("source/sub", 0755) == 0 && mount("t", "source/sub", "tmpfs", 0, "mode=755") == 0);
        enter_all(plan);
        CHECK(refuses_write("/plain/x", EROFS) &&
                (flags_of("/plain") & (ST_NOSUID | ST_NODEV | ST_NOEXEC)) == (ST_NOSUID | ST_NODEV | ST_NOEXEC));
        CHECK(access("/plain/sub", F_OK) == 0);
        write_text("/plain/sub/../../exec/x", "");
        CHECK(refuses_write("/all/x", EROFS) && refuses_write("/all/sub/x", EROFS));
        CHECK(refuses_write("/one/x", EROFS) && flags_of("/one") & ST_NOATIME);
        write_text("/one/sub/x", "");
        CHECK((flags_of("/exec") & (ST_NOSUID | ST_NODEV | ST_NOEXEC)) == ST_NOSUID);
}

CHILD_TEST(a_bind_that_asks_is_a_slave_of_its_source, 0) {
        char source[128], byte;
        struct plan_mount mounts[] = {
                { .field = "mounts[0]",
                        .destination = "/slave",
                        .kind = BIND,
                        .source = source,
                        .recursive = true,
                        .propagation = MS_SLAVE | MS_REC },
                { .field = "mounts[1]", .destination = "/alone", .kind = BIND, .source = source, .recursive = true },
        };
        struct plan_plan *plan = bare_plan(scratch, mounts, 2);
        int status, down[2], up[2];

        snprintf(source, sizeof source, "%s/source", scratch);
        CHECK(mkdir("source", 0755) == 0 && mkdir("source/sub", 0755) == 0 && mount(NULL, scratch, NULL, MS_SHARED, NULL) == 0);
        CHECK(pipe2(down, O_CLOEXEC) == 0 && pipe2(up, O_CLOEXEC) == 0);
        if (fork_child() == 0) {
                CHECK(unshare(CLONE_NEWNS) == 0);
                rootfs.propagation = MS_SLAVE | MS_REC;
                enter_all(plan);
                CHECK(write(up[1], "e", 1) == 1 && read(down[0], &byte, 1) == 1);
                CHECK(access("/slave/sub/mark", F_OK) == 0 && access("/alone/sub/mark", F_OK) < 0);
                _exit(0);
        }
        CHECK(read(up[0], &byte, 1) == 1 && mount("sub", "source/sub", "tmpfs", 0, NULL) == 0);
        write_text("source/sub/mark", "");
        CHECK(write(down[1], "g", 1) == 1 && wait(&status) > 0 && status == 0);
}

/* Linux 6.3 and newer. */
static bool tmpfs_takes_id_maps(void) {
        struct utsname kernel;
        unsigned major, minor;

        return uname(&kernel) == 0 && sscanf(kernel.release, "%u.%u", &major, &minor) == 2 && (major > 6 || (major == 6 && minor >= 3));
}

/* The parent opens what the root of a user namespace could not reach, and maps ids where that is asked for. */
CHILD_TEST(sources_can_come_from_the_parent, 0) {
        static struct plan_id_range map[] = { { .inside = 0, .outside = 5000, .count = 1000 } };
        static struct plan_idmap idmap = { .uid_map = map, .n_uid_map = 1, .gid_map = map, .n_gid_map = 1 };
        bool mapped = tmpfs_takes_id_maps();
        char source[128];
        struct plan_mount mounts[] = {
                { .field = "mounts[0]", .destination = "/a", .kind = BIND, .source = source, .idmap = mapped ? &idmap : NULL },
                { .field = "mounts[1]", .destination = "/b", .kind = BIND, .source = source },
                { .field = "mounts[2]", .destination = "/c", .kind = FILESYSTEM, .type = "tmpfs" },
        };
        struct plan_plan *plan = bare_plan(scratch, mounts, 3);
        int sources[3], root;
        struct stat st;

        snprintf(source, sizeof source, "%s/source", scratch);
        CHECK(mkdir("source", 0755) == 0 && mkdir("fs", 0755) == 0);
        write_text("source/file", "");
        CHECK(mount_source_is_early(plan, 0) == mapped && !mount_source_is_early(plan, 1) && !mount_source_is_early(plan, 2));
        namespaces.create = CLONE_NEWUSER;
        CHECK(mount_source_is_early(plan, 1) && !mount_source_is_early(plan, 2));
        CHECK_OK(mount_sources_open(plan, sources, &err));
        CHECK(sources[0] >= 0 && sources[1] >= 0 && sources[2] == -1);
        CHECK_OK(rootfs_prepare(plan, &root, &err));
        CHECK_OK(mounts_attach(plan, root, sources, &err));
        CHECK(sources[0] == -1 && sources[1] == -1);
        CHECK_OK(rootfs_enter(plan, root, &err));
        CHECK(stat("/a/file", &st) == 0 && st.st_uid == (mapped ? 5000 : 0) && st.st_gid == st.st_uid);
        CHECK(stat("/b/file", &st) == 0 && st.st_uid == 0);
}

CHILD_TEST(an_id_mapped_mount_without_any_map_is_an_error, 0) {
        static struct plan_idmap idmap;
        struct plan_mount mounts[] = { { .field = "mounts[0]", .destination = "/a", .kind = BIND, .source = scratch, .idmap = &idmap } };
        struct plan_plan *plan = bare_plan(scratch, mounts, 1);

        fail_attach(plan, -EINVAL);
        CHECK(err.code == CODE_CONFIG_INVALID);
}

CHILD_TEST(copy_symlink_makes_the_link_again, 0) {
        char source[128], text[32];
        struct plan_mount mounts[] = {
                { .field = "mounts[0]", .destination = "/etc/link", .kind = BIND, .source = source, .copy_symlink = true },
                { .field = "mounts[1]", .destination = "/dir", .kind = BIND, .source = scratch, .copy_symlink = true },
        };
        struct plan_plan *plan = bare_plan(scratch, mounts, 2);

        snprintf(source, sizeof source, "%s/link", scratch);
        CHECK(symlink("target", "link") == 0);
        enter_all(plan);
        CHECK(readlink("/etc/link", text, sizeof text) == 6 && access("/dir/root", F_OK) == 0);
}

/* CVE-2021-30465: mounts into a volume in which somebody swaps the destination for a symlink to the host. */
CHILD_TEST(a_race_of_renames_never_moves_a_mount_out, 0) {
        char source[128], link[128], mark[160];
        struct plan_mount mounts[] = {
                { .field = "mounts[0]", .destination = "/vol", .kind = BIND, .source = source },
                { .field = "mounts[1]", .destination = "/vol/d/deep", .kind = FILESYSTEM, .type = "tmpfs" },
        };
        struct plan_plan *plan = bare_plan(scratch, mounts, 2);
        struct timespec begin, now;
        int root, attached = 0;
        pid_t attacker;

        snprintf(source, sizeof source, "%s/shared", scratch);
        snprintf(link, sizeof link, "%s/outside", scratch);
        snprintf(mark, sizeof mark, "%s/outside/deep/mark", scratch);
        CHECK(mkdir("shared", 0777) == 0 && mkdir("shared/d", 0777) == 0 && mkdir("shared/d/deep", 0777) == 0 &&
                symlink(link, "shared/l") == 0);
        CHECK(mkdir("outside", 0755) == 0 && mkdir("outside/deep", 0755) == 0);
        write_text(mark, "");
        attacker = fork_child();
        if (attacker == 0) {
                int vol = open("shared", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

                for (;;)
                        syscall(SYS_renameat2, vol, "d", vol, "l", RENAME_EXCHANGE);
        }
        CHECK_OK(rootfs_prepare(plan, &root, &err));
        clock_gettime(CLOCK_MONOTONIC, &begin);
        do {
                if (mounts_attach(plan, root, NULL, &err) == 0)
                        attached++;
                CHECK(access(mark, F_OK) == 0);
                CHECK(chdir("/") == 0);
                while (umount2(rootfs.path, MNT_DETACH) == 0)
                        ;
                close(root);
                CHECK_OK(rootfs_prepare(plan, &root, &err));
                clock_gettime(CLOCK_MONOTONIC, &now);
        } while (now.tv_sec - begin.tv_sec < 2);
        kill(attacker, SIGKILL);
        waitpid(attacker, NULL, 0);
        CHECK(attached > 10);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_destination_behind_a_symlink_stays_in_the_root),
                cmocka_unit_test(a_bind_of_a_file_goes_over_a_dangling_link),
                cmocka_unit_test(a_file_does_not_go_on_a_directory),
                cmocka_unit_test(binds_get_their_options_and_keep_the_sources),
                cmocka_unit_test(a_bind_that_asks_is_a_slave_of_its_source),
                cmocka_unit_test(sources_can_come_from_the_parent),
                cmocka_unit_test(an_id_mapped_mount_without_any_map_is_an_error),
                cmocka_unit_test(copy_symlink_makes_the_link_again),
                cmocka_unit_test(a_race_of_renames_never_moves_a_mount_out),
        };

        return RUN_TESTS(tests);
}
