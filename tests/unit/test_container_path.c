#define _GNU_SOURCE
#include "in_child.h"

#include <linux/openat2.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>

#include "apply/container_path.h"

/* Every test: "root" is the container's, "outside" lies beside it and must stay as it is. */
static int make_root(void) {
        int root;

        umask(0);
        CHECK(mkdir("root", 0755) == 0 && mkdir("outside", 0755) == 0 && mkdir("root/etc", 0755) == 0);
        root = open("root", O_PATH | O_DIRECTORY | O_CLOEXEC);
        CHECK(root >= 0);
        return root;
}

static bool same_file(int fd, const char *path) {
        struct stat a, b;

        return fstat(fd, &a) == 0 && lstat(path, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static mode_t mode_of(const char *path) {
        struct stat st;

        CHECK(lstat(path, &st) == 0);
        return st.st_mode;
}

CHILD_TEST(absolute_links_and_dots_stay_in_the_root, 0) {
        struct error err;
        int root = make_root(), fd;

        CHECK(symlink("/etc", "root/x") == 0 && symlink("../../../../../etc", "root/y") == 0);
        CHECK_OK(container_path_make(root, "/x/new", S_IFDIR, &fd, &err));
        CHECK(same_file(fd, "root/etc/new"));
        CHECK_OK(container_path_open(root, "y/new", O_PATH, &fd, &err));
        CHECK(same_file(fd, "root/etc/new"));
        CHECK_OK(container_path_open(root, "/../../etc/new", O_PATH, &fd, &err));
        CHECK(same_file(fd, "root/etc/new"));
        CHECK(access("/etc/new", F_OK) < 0);
}

CHILD_TEST(what_is_missing_is_made_with_its_parents, 0) {
        struct error err;
        int root = make_root(), fd;

        CHECK(container_path_make_with(root, "/a//b/./c", S_IFREG, 0, 0, &fd, &err) == 1);
        CHECK(same_file(fd, "root/a/b/c"));
        CHECK(mode_of("root/a") == (S_IFDIR | 0755) && mode_of("root/a/b/c") == (S_IFREG | 0644));
        CHECK(container_path_make_with(root, "a/b/c", S_IFREG, 0, 0, &fd, &err) == 0);
        CHECK_OK(container_path_make(root, "/d/", S_IFDIR, &fd, &err));
        CHECK(same_file(fd, "root/d"));
        CHECK_OK(container_path_make(root, "/e/f/../g", S_IFDIR, &fd, &err));
        CHECK(same_file(fd, "root/e/g"));
        CHECK_OK(container_path_make(root, "/", S_IFDIR, &fd, &err));
        CHECK(same_file(fd, "root"));
        CHECK(container_path_make(root, "", S_IFDIR, &fd, &err) == -ENOENT);
}

/* docker -v /etc/localtime:/etc/localtime with an image whose zone files are not installed (runc#5090). */
CHILD_TEST(a_dangling_link_gets_its_target, 0) {
        struct error err;
        int root = make_root(), fd;

        CHECK(symlink("/usr/share/zoneinfo/UTC", "root/etc/localtime") == 0);
        CHECK_OK(container_path_make(root, "/etc/localtime", S_IFREG, &fd, &err));
        CHECK(same_file(fd, "root/usr/share/zoneinfo/UTC"));
        CHECK(S_ISLNK(mode_of("root/etc/localtime")));

        CHECK(symlink("b/c", "root/etc/a") == 0);
        CHECK_OK(container_path_make(root, "/etc/a/d/e", S_IFDIR, &fd, &err));
        CHECK(same_file(fd, "root/etc/b/c/d/e"));

        CHECK(symlink("../../../outside/f", "root/etc/up") == 0);
        CHECK_OK(container_path_make(root, "/etc/up", S_IFREG, &fd, &err));
        CHECK(same_file(fd, "root/outside/f"));
        CHECK(rmdir("outside") == 0);
}

CHILD_TEST(links_that_lead_nowhere_are_errors, 0) {
        struct error err = { 0 };
        int root = make_root(), fd = -7;

        CHECK(symlink("b", "root/a") == 0 && symlink("a", "root/b") == 0);
        CHECK(container_path_make(root, "/a", S_IFDIR, &fd, &err) == -ELOOP);
        CHECK(symlink("c/c", "root/c") == 0);
        CHECK(container_path_make(root, "/c", S_IFDIR, &fd, &err) == -ELOOP);
        CHECK(symlink("/missing", "root/d") == 0);
        CHECK(container_path_make_with(root, "/d", S_IFDIR, 0, RESOLVE_NO_SYMLINKS, &fd, &err) == -ELOOP);
        CHECK(strstr(err.text, "symlink") && strcmp(err.where, "/d") == 0 && err.code == CODE_LAUNCH_FAILED);
        CHECK(access("root/missing", F_OK) < 0);
        CHECK(container_path_make_with(root, "/d/e", S_IFDIR, 0, RESOLVE_NO_SYMLINKS, &fd, &err) == -ELOOP);
        CHECK(container_path_make_with(root, "/d", S_IFDIR, O_NOFOLLOW, 0, &fd, &err) == 0 && same_file(fd, "root/d"));
        fd = -7;
        write_text("root/file", "");
        CHECK(container_path_make(root, "/file/below", S_IFDIR, &fd, &err) == -ENOTDIR);
        CHECK(container_path_open(root, "/absent", O_PATH, &fd, &err) == -ENOENT && fd == -7);
}

CHILD_TEST(names_that_are_too_long_are_errors, 0) {
        char name[5000];
        struct error err;
        int root = make_root(), fd = -7;

        memset(name, 'a', sizeof name);
        name[300] = '\0';
        CHECK(container_path_make(root, name, S_IFDIR, &fd, &err) == -ENAMETOOLONG);
        name[300] = 'a';
        name[sizeof name - 1] = '\0';
        CHECK(container_path_make(root, name, S_IFDIR, &fd, &err) == -ENAMETOOLONG && fd == -7);
}

CHILD_TEST(magic_links_are_refused, CLONE_NEWPID) {
        struct error err;
        int root = make_root(), fd;

        CHECK(mkdir("root/proc", 0755) == 0 && mount("proc", "root/proc", "proc", 0, NULL) == 0);
        CHECK(container_path_open(root, "/proc/self/root", O_PATH, &fd, &err) == -ELOOP);
        CHECK(container_path_make(root, "/proc/self/cwd/made", S_IFDIR, &fd, &err) == -ELOOP);
        CHECK(access("made", F_OK) < 0);
}

/* CVE-2021-30465 and CVE-2024-45310: somebody who shares a volume swaps a directory for a symlink to the host while we make things
 * in it. */
CHILD_TEST(a_race_of_renames_never_leads_out, 0) {
        struct timespec begin, now;
        struct error err;
        int root = make_root(), fd, made = 0;
        char path[64];
        pid_t attacker;

        CHECK(mkdir("root/vol", 0777) == 0 && mkdir("root/vol/d", 0777) == 0 && symlink("/../../../../../../outside", "root/vol/l") == 0);
        snprintf(path, sizeof path, "%s/outside", scratch);
        CHECK(symlink(path, "root/vol/m") == 0);
        attacker = fork_child();
        if (attacker == 0) {
                int vol = open("root/vol", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

                for (unsigned i = 0;; i++)
                        syscall(SYS_renameat2, vol, "d", vol, i & 1 ? "l" : "m", RENAME_EXCHANGE);
        }
        clock_gettime(CLOCK_MONOTONIC, &begin);
        for (int i = 0;; i++) {
                snprintf(path, sizeof path, "/vol/d/sub%d/x", i);
                if (container_path_make(root, path, i & 1 ? S_IFREG : S_IFDIR, &fd, &err) >= 0) {
                        made++;
                        close(fd);
                }
                clock_gettime(CLOCK_MONOTONIC, &now);
                if (now.tv_sec - begin.tv_sec >= 2)
                        break;
        }
        kill(attacker, SIGKILL);
        waitpid(attacker, NULL, 0);
        CHECK(made > 10);
        CHECK(rmdir("outside") == 0); /* empty */
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(absolute_links_and_dots_stay_in_the_root),
                cmocka_unit_test(what_is_missing_is_made_with_its_parents),
                cmocka_unit_test(a_dangling_link_gets_its_target),
                cmocka_unit_test(links_that_lead_nowhere_are_errors),
                cmocka_unit_test(names_that_are_too_long_are_errors),
                cmocka_unit_test(magic_links_are_refused),
                cmocka_unit_test(a_race_of_renames_never_leads_out),
        };

        return RUN_TESTS(tests);
}
