/* The root of a container: what is there once it is entered, what is not, and what its host sees of it. */
#define _GNU_SOURCE
#include "bundle.h"

#include <dirent.h>
#include <sys/syscall.h>

/* Mount points that are neither / nor below the container's /proc, /dev and /sys. */
static int count_foreign_mounts(void) {
        FILE *file = fopen("/proc/self/mountinfo", "re");
        char line[4096], point[1024];
        int n = 0;

        CHECK(file);
        while (fgets(line, sizeof line, file)) {
                CHECK(sscanf(line, "%*d %*d %*s %*s %1023s", point) == 1);
                n += strcmp(point, "/") != 0 && strncmp(point, "/proc", 5) != 0 && strncmp(point, "/dev", 4) != 0 &&
                        strncmp(point, "/sys", 4) != 0;
        }
        fclose(file);
        return n;
}

/* 0 where there is no such directory, as on machines without that hardware. */
static int count_entries(const char *path) {
        DIR *dir = opendir(path);
        int n = -2; /* . and .. */

        if (!dir)
                return 0;
        while (readdir(dir))
                n++;
        closedir(dir);
        return n;
}

CHILD_TEST(the_default_container_is_furnished, NEW_ALL) {
        struct plan_plan *plan = default_plan(scratch);
        char text[512];

        rootfs.readonly = true;
        enter_all(plan);
        CHECK(syscall(SYS_getcwd, text, sizeof text) > 0 && strcmp(text, "/") == 0);
        CHECK(count_foreign_mounts() == 0 && count_mounts(NULL) >= 10);
        CHECK(refuses_write("/new", EROFS) && refuses_write("/proc/sys/kernel/hostname", EROFS) && refuses_write("/sys/new", EROFS));
        write_text("/dev/null", "x");
        write_text("/dev/shm/x", "x");
        CHECK(mode_of("/dev/null") == (S_IFCHR | 0666) && mode_of("/dev/shm") == (S_IFDIR | 01777));
        CHECK(readlink("/dev/ptmx", text, sizeof text) == 8 && memcmp(text, "pts/ptmx", 8) == 0);
        CHECK(readlink("/dev/stdin", text, sizeof text) == 15 && access("/dev/pts/ptmx", F_OK) == 0 && access("/dev/mqueue", F_OK) == 0);
        CHECK(read_text("/proc/keys", text, sizeof text) == 0);
        CHECK(count_entries("/sys/firmware") == 0 && count_entries("/proc/acpi") == 0);
}

CHILD_TEST(the_old_root_is_gone_and_the_root_is_the_image, NEW_ALL) {
        struct plan_plan *plan = default_plan(scratch);

        write_text("root/mark", "");
        enter_all(plan);
        CHECK(access("/mark", F_OK) == 0 && access(scratch, F_OK) < 0 && access("/../../etc/passwd", F_OK) < 0);
        write_text("/new", "");
}

CHILD_TEST(without_pivot_the_root_is_moved, NEW_ALL) {
        struct plan_plan *plan = default_plan(scratch);

        rootfs.has = PLAN_ROOTFS_HAS_PIVOT;
        write_text("root/mark", "");
        enter_all(plan);
        CHECK(access("/mark", F_OK) == 0 && access(scratch, F_OK) < 0 && access("/../mark", F_OK) == 0);
}

/* runc#1247: a read-only root on a file system whose nosuid and nodev the host has locked for this user namespace. */
CHILD_TEST(locked_flags_stay_where_the_root_becomes_read_only, CLONE_NEWPID) {
        struct plan_plan *plan = bare_plan(scratch, NULL, 0);

        static const char *paths[] = { "/sub" };

        CHECK(mount("r", "root", "tmpfs", MS_NOSUID | MS_NODEV | MS_NOATIME, "mode=755") == 0 && mkdir("root/sub", 0755) == 0);
        CHECK(unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0);
        write_text("/proc/self/setgroups", "deny");
        write_text("/proc/self/uid_map", "0 0 1");
        write_text("/proc/self/gid_map", "0 0 1");
        rootfs.readonly = true;
        plan->readonly_paths = paths;
        plan->n_readonly_paths = 1;
        enter_all(plan);
        CHECK((flags_of("/") & (ST_NOSUID | ST_NODEV | ST_RDONLY | ST_NOATIME)) == (ST_NOSUID | ST_NODEV | ST_RDONLY | ST_NOATIME));
        CHECK((flags_of("/sub") & (ST_NOSUID | ST_NODEV | ST_RDONLY)) == (ST_NOSUID | ST_NODEV | ST_RDONLY));
}

/* What rootfs_prepare() and the mounts do in a namespace that keeps exchanging mounts with its host's must not show there. */
static void exchange(const char *scratch, unsigned long propagation, bool inside_sees_host) {
        struct plan_plan *plan = default_plan(scratch);
        struct plan_mount mounts[7];
        int before, status, down[2], up[2];
        char byte;

        memcpy(mounts, default_mounts, sizeof default_mounts);
        mounts[6] = (struct plan_mount){ .field = "mounts[6]", .destination = "/deep/below", .kind = FILESYSTEM, .type = "tmpfs" };
        plan->mounts = mounts;
        plan->n_mounts = 7;
        CHECK(mkdir("root/sub", 0755) == 0 && mkdir("root/deep", 0755) == 0 && mount("deep", "root/deep", "tmpfs", 0, "mode=755") == 0);
        CHECK(mount(NULL, "/", NULL, MS_SHARED | MS_REC, NULL) == 0);
        CHECK(pipe2(down, O_CLOEXEC) == 0 && pipe2(up, O_CLOEXEC) == 0);
        before = count_mounts(NULL);
        if (fork_child() == 0) {
                CHECK(unshare(CLONE_NEWNS | CLONE_NEWIPC) == 0);
                rootfs.propagation = propagation;
                enter_all(plan);
                CHECK(write(up[1], "e", 1) == 1 && read(down[0], &byte, 1) == 1);
                CHECK((access("/sub/mark", F_OK) == 0) == inside_sees_host);
                CHECK(mkdir("/own", 0755) == 0 && mount("own", "/own", "tmpfs", 0, NULL) == 0);
                _exit(0);
        }
        CHECK(read(up[0], &byte, 1) == 1);
        CHECK(count_mounts(NULL) == before && access("root/proc/self", F_OK) < 0);
        CHECK(mount("sub", "root/sub", "tmpfs", 0, NULL) == 0);
        write_text("root/sub/mark", "");
        CHECK(write(down[1], "g", 1) == 1 && wait(&status) > 0 && status == 0);
        CHECK(count_mounts(NULL) == before + 1);
}

CHILD_TEST(a_shared_root_changes_nothing_on_the_host, 0) {
        exchange(scratch, MS_SHARED | MS_REC, false);
}
CHILD_TEST(a_slave_root_takes_what_the_host_mounts, 0) {
        exchange(scratch, MS_SLAVE | MS_REC, true);
}
CHILD_TEST(a_private_root_takes_nothing, 0) {
        exchange(scratch, 0, false);
}

/* CVE-2024-21626 */
CHILD_TEST(a_working_directory_outside_is_refused, NEW_ALL) {
        struct plan_process process = { .cwd = "/made/for/you" };
        struct plan_plan *plan = default_plan(scratch);
        char path[64];
        int host, detached, i;

        host = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
        detached = open_tree(AT_FDCWD, "/etc", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
        CHECK(host >= 0 && detached >= 0);
        plan->process = &process;
        enter_all(plan);
        for (i = 3; i < 20; i++) {
                snprintf(path, sizeof path, "/proc/self/fd/%d", i);
                CHECK(cwd_enter(path, &err) < 0);
                CHECK(chdir("/") == 0);
        }
        snprintf(path, sizeof path, "/proc/self/fd/%d", host);
        CHECK(cwd_enter(path, &err) == -EXDEV && strcmp(err.where, "process.cwd") == 0);
        CHECK_OK(cwd_enter("/made/for/you", &err));
        CHECK(mode_of("/made/for/you") == (S_IFDIR | 0755));
        CHECK_OK(cwd_enter("/", &err));
        CHECK(cwd_enter("/missing", &err) == -ENOENT);
        write_text("/file", "");
        CHECK(cwd_enter("/file", &err) == -ENOTDIR);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_default_container_is_furnished),
                cmocka_unit_test(the_old_root_is_gone_and_the_root_is_the_image),
                cmocka_unit_test(without_pivot_the_root_is_moved),
                cmocka_unit_test(locked_flags_stay_where_the_root_becomes_read_only),
                cmocka_unit_test(a_shared_root_changes_nothing_on_the_host),
                cmocka_unit_test(a_slave_root_takes_what_the_host_mounts),
                cmocka_unit_test(a_private_root_takes_nothing),
                cmocka_unit_test(a_working_directory_outside_is_refused),
        };

        return RUN_TESTS(tests);
}
