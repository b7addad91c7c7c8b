#define _GNU_SOURCE
#include "bundle.h"

#include <dirent.h>
#include <signal.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <time.h>

#define FILESYSTEM PLAN_MOUNT_KIND_FILESYSTEM
#define BIND PLAN_MOUNT_KIND_BIND
#define NEW_ALL (CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNET)

static unsigned long flags_of(const char *path) {
        struct statvfs st;

        CHECK(statvfs(path, &st) == 0);
        return st.f_flag;
}

static int count_mounts(const char *containing) {
        FILE *file = fopen("/proc/self/mountinfo", "re");
        char line[4096];
        int n = 0;

        CHECK(file);
        while (fgets(line, sizeof line, file))
                n += !containing || strstr(line, containing);
        fclose(file);
        return n;
}

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

static void fail_attach(const struct plan_plan *plan, int expected) {
        int root, r;

        CHECK_OK(rootfs_prepare(plan, &root, &err));
        r = mounts_attach(plan, root, NULL, &err);
        if (r != expected)
                fprintf(stderr, "# got %d: %s\n", r, err.text);
        CHECK(r == expected);
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

/* CVE-2019-19921, CVE-2023-27561, CVE-2025-54867 */
CHILD_TEST(proc_and_sys_behind_a_symlink_are_refused, NEW_ALL) {
        struct plan_plan *plan = default_plan(scratch);

        CHECK(mkdir("root/bad", 0755) == 0 && symlink("bad", "root/proc") == 0);
        fail_attach(plan, -ELOOP);
        CHECK(strstr(err.text, "ordinary director") && strstr(err.text, "mounts[0]") && strcmp(err.where, "/proc") == 0);
        CHECK(unlink("root/proc") == 0 && mkdir("root/proc", 0755) == 0 && symlink("bad", "root/sys") == 0);
        fail_attach(plan, -ELOOP);
}

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

CHILD_TEST(options_for_a_file_system_are_put_together, 0) {
        static const struct { const char *type, *data; int mode; const char *label, *expected, *context; } cases[] = {
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
                cmocka_unit_test(the_default_container_is_furnished),
                cmocka_unit_test(the_old_root_is_gone_and_the_root_is_the_image),
                cmocka_unit_test(without_pivot_the_root_is_moved),
                cmocka_unit_test(proc_and_sys_behind_a_symlink_are_refused),
                cmocka_unit_test(a_dev_that_leads_out_of_the_root_is_refused),
                cmocka_unit_test(a_destination_behind_a_symlink_stays_in_the_root),
                cmocka_unit_test(a_bind_of_a_file_goes_over_a_dangling_link),
                cmocka_unit_test(a_file_does_not_go_on_a_directory),
                cmocka_unit_test(binds_get_their_options_and_keep_the_sources),
                cmocka_unit_test(locked_flags_stay_where_the_root_becomes_read_only),
                cmocka_unit_test(a_tmpfs_has_the_mode_of_the_directory_that_it_covers),
                cmocka_unit_test(a_read_only_tmpfs_is_furnished_first),
                cmocka_unit_test(tmpcopyup_takes_the_image_along),
                cmocka_unit_test(a_mount_goes_where_earlier_ones_have_led),
                cmocka_unit_test(masks_come_from_the_host),
                cmocka_unit_test(devices_that_exist_must_be_the_right_ones),
                cmocka_unit_test(a_read_only_dev_lacks_only_defaults),
                cmocka_unit_test(a_user_namespace_gets_the_hosts_devices),
                cmocka_unit_test(sysfs_without_a_network_namespace_is_the_hosts_read_only),
                cmocka_unit_test(without_a_cgroup_namespace_only_the_own_cgroup_shows_read_only),
                cmocka_unit_test(a_cgroup_namespace_gets_cgroup2),
                cmocka_unit_test(a_shared_root_changes_nothing_on_the_host),
                cmocka_unit_test(a_slave_root_takes_what_the_host_mounts),
                cmocka_unit_test(a_private_root_takes_nothing),
                cmocka_unit_test(a_bind_that_asks_is_a_slave_of_its_source),
                cmocka_unit_test(sources_can_come_from_the_parent),
                cmocka_unit_test(an_id_mapped_mount_without_any_map_is_an_error),
                cmocka_unit_test(copy_symlink_makes_the_link_again),
                cmocka_unit_test(options_for_a_file_system_are_put_together),
                cmocka_unit_test(a_working_directory_outside_is_refused),
                cmocka_unit_test(a_race_of_renames_never_moves_a_mount_out),
        };

        return RUN_TESTS(tests);
}
