/* Killing what is in a cgroup, and removing it with what it holds. */
#define _GNU_SOURCE
#include "cgroups.h"

#include <errno.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "apply/cgroup_file.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/time.h"

static void kill_reaches_frozen_and_nested_processes(void **state) {
        _cleanup_close_ int top = -1, below = -1;
        struct error err;
        pid_t one, two;
        int status;

        (void)state;
        top = create(path("/t"), &nothing);
        below = create(path("/t/a/b"), &nothing);
        one = start_in(top, -1);
        two = start_in(below, -1);
        assert_int_equal(file_write(top, "cgroup.freeze", "1", 1), 0);
        assert_int_equal(cgroup_kill(top, &err), 0);
        assert_int_equal(waitpid(one, &status, 0), one);
        assert_int_equal(WTERMSIG(status), SIGKILL);
        assert_int_equal(waitpid(two, &status, 0), two);
        remove_all(path("/t"), 2);
        assert_int_equal(cgroup_kill(below, &err), 0); /* gone: killed */
        assert_false(exists(path("")));
}

static void what_is_gone_already_is_removed(void **state) {
        bool populated = true;
        struct error err;
        int fd;

        (void)state;
        remove_all(path("/a/b"), 3);
        fd = create(path("/a/b"), &nothing);
        assert_int_equal(rmdir(path("/a/b")), 0);
        assert_int_equal(cgroup_populated(fd, &populated, &err), 0);
        assert_false(populated);
        close(fd);
        remove_all(path("/a/b"), 3); /* the parents are still there */
        assert_false(exists(path("")));
}

static void removal_waits_for_the_dying(void **state) {
        uint64_t start;
        pid_t pid;
        int fd;

        (void)state;
        fd = create(path("/a/b"), &nothing);
        pid = start_in(fd, 150);
        close(fd);
        start = time_monotonic_us();
        remove_all(path("/a"), 2);
        assert_in_range(time_monotonic_us() - start, 50000, 1500000);
        end(pid); /* still a zombie: that does not hold a cgroup */
        assert_false(exists(path("")));
}

static void removal_gives_up_on_the_living(void **state) {
        struct error err;
        uint64_t start;
        pid_t pid;
        int fd;

        (void)state;
        fd = create(path("/a/b/c"), &nothing);
        pid = start_in(fd, -1);
        close(fd);
        start = time_monotonic_us();
        assert_int_equal(cgroup_remove(path("/a"), 2, &err), -EBUSY);
        assert_in_range(time_monotonic_us() - start, 1900000, 4000000);
        assert_int_equal(err.code, CODE_RELEASE_FAILED);
        assert_string_equal(err.where, path("/a"));
        end(pid);
        remove_all(path("/a"), 2);
}

static void a_parent_that_others_moved_into_is_theirs(void **state) {
        int fd;

        (void)state;
        fd = create(path("/a"), &nothing);
        close(fd);
        assert_int_equal(mkdir(path("/b"), 0755), 0);
        remove_all(path("/a"), 2);
        assert_false(exists(path("/a")));
        assert_true(exists(path("/b")));
        remove_all(path("/b"), 2);
        assert_false(exists(path("")));
}

/* A payload may do this with its own cgroup file system. */
static void deep_and_wide_trees_are_removed(void **state) {
        struct rlimit before, few = { 16, 16 };
        int fd, next;

        (void)state;
        fd = create(path("/a"), &nothing);
        for (int i = 0; i < 100; i++) {
                char name[32];

                snprintf(name, sizeof name, "wide%d", i);
                assert_int_equal(mkdirat(fd, name, 0755), 0);
        }
        for (int i = 0; i < 600; i++) {
                assert_int_equal(mkdirat(fd, "deep", 0755), 0);
                assert_true((next = openat(fd, "deep", O_PATH | O_DIRECTORY | O_CLOEXEC)) >= 0);
                close(fd);
                fd = next;
        }
        close(fd);
        getrlimit(RLIMIT_NOFILE, &before);
        few.rlim_max = before.rlim_max;
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
        remove_all(path("/a"), 2);
        setrlimit(RLIMIT_NOFILE, &before);
        assert_false(exists(path("")));
}

static void containers_of_one_parent_come_and_go(void **state) {
        char name[2][512], parent[256];
        pid_t pids[2];

        (void)state;
        snprintf(parent, sizeof parent, "%s", path(""));
        for (int i = 0; i < 2; i++) {
                snprintf(name[i], sizeof name[i], "%s/p/c%d", parent, i);
                if ((pids[i] = fork()) == 0) {
                        for (int round = 0; round < 150; round++) {
                                struct error err;
                                unsigned claim;
                                int fd;

                                if (cgroup_ours(name[i], &claim, &err) < 0 || cgroup_create(name[i], &nothing, &claim, &fd, &err) < 0 ||
                                        cgroup_remove(name[i], claim, &err) < 0) {
                                        fprintf(stderr, "# %s: %s\n", err.where, err.text);
                                        _exit(1);
                                }
                                close(fd);
                        }
                        _exit(0);
                }
        }
        for (int i = 0; i < 2; i++) {
                int status;

                assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
                assert_int_equal(status, 0);
                assert_false(exists(name[i]));
        }
        (void)rmdir(path("/p")); /* the one who made it may have left it to the other, who then had no claim on it */
        (void)rmdir(parent);
        assert_false(exists(parent));
}

int main(int argc, char **argv) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(kill_reaches_frozen_and_nested_processes),
                cmocka_unit_test(what_is_gone_already_is_removed),
                cmocka_unit_test(removal_waits_for_the_dying),
                cmocka_unit_test(removal_gives_up_on_the_living),
                cmocka_unit_test(a_parent_that_others_moved_into_is_theirs),
                cmocka_unit_test(deep_and_wide_trees_are_removed),
                cmocka_unit_test(containers_of_one_parent_come_and_go),
        };

        (void)argc;
        return RUN_CGROUP_TESTS(argv, tests);
}
