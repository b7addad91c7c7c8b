/* What a walk over a workspace lets pass and what it refuses, on XFS. */
#define _GNU_SOURCE
#include "xfs.h"

#include <sys/resource.h>

#include "apply/workspace_links.h"
#include "apply/workspace_walk.h"
#include "base/time.h"

#define PROJECT 1001

static const struct walk_rules project_rules = { .in_project = true, .project = PROJECT };
static const struct walk_rules with_symlinks = { .in_project = true, .project = PROJECT, .allow_symlinks = true };

static struct error err;
static struct walk_sum sum;

static int walk_of(const char *const *paths, size_t n, const struct walk_rules *rules) {
        struct walk_top tops[4];
        int r;

        for (size_t i = 0; i < n; i++) {
                tops[i] = (struct walk_top){ .fd = open(paths[i], O_PATH | O_DIRECTORY | O_CLOEXEC), .path = paths[i] };
                CHECK(tops[i].fd >= 0);
        }
        memset(&err, 0, sizeof err);
        r = workspace_walk(tops, n, rules, &sum, &err);
        for (size_t i = 0; i < n; i++)
                close(tops[i].fd);
        return r;
}

static int walk(const char *path, const struct walk_rules *rules) {
        return walk_of(&path, 1, rules);
}

static void refused(const char *path, const char *where, const char *text) {
        int r = walk(path, &project_rules);

        if (r >= 0 || err.code != CODE_WORKSPACE_INVALID || strcmp(err.where, where) != 0 || !strstr(err.text, text)) {
                fprintf(stderr, "# %d, code %u: %s: %s\n", r, err.code, err.where, err.text);
                _exit(1);
        }
}

static void make_workspace(void) {
        mount_xfs();
        make_directory_of("xfs/w", PROJECT);
}

static void shell(const char *command) {
        CHECK(system(command) == 0);
}

CHILD_TEST(every_name_of_a_tree_in_order_is_seen, 0) {
        make_workspace();
        shell("cd xfs/w && mkdir -p a/b/c d/e && touch 1 a/2 a/b/3 a/b/c/4 d/5 d/e/6 && for i in $(seq 3000); do echo d/e/many-$i; done | "
              "xargs touch && for i in $(seq 300); do echo many/d-$i/x; done | xargs mkdir -p");
        CHECK_OK(walk("xfs/w", &project_rules));
        CHECK(sum.names == 5 + 6 + 3000 + 1 + 600);
        CHECK(sum.directories == 1 + 5 + 1 + 600);
}

CHILD_TEST(what_belongs_to_another_project_is_refused, 0) {
        make_workspace();
        shell("mkdir -p xfs/w/a/b && touch xfs/w/a/b/file xfs/w/a/z");
        set_attributes("xfs/w/a/b/file", 7, 0);
        refused("xfs/w", "xfs/w/a/b/file", "belongs to project 7, the workspace to 1001");
        set_attributes("xfs/w/a/b/file", PROJECT, 0);
        CHECK_OK(walk("xfs/w", &project_rules));
        set_attributes("xfs/w/a/b", 8, FS_XFLAG_PROJINHERIT);
        refused("xfs/w", "xfs/w/a/b", "belongs to project 8");
        set_attributes("xfs/w/a/b", PROJECT, FS_XFLAG_PROJINHERIT);
        set_attributes("xfs/w", 0, FS_XFLAG_PROJINHERIT);
        refused("xfs/w", "xfs/w", "belongs to project 0");
}

CHILD_TEST(a_directory_that_does_not_pass_its_project_on_is_refused, 0) {
        make_workspace();
        shell("mkdir -p xfs/w/a/b");
        set_attributes("xfs/w/a/b", PROJECT, 0);
        refused("xfs/w", "xfs/w/a/b", "FS_XFLAG_PROJINHERIT");
}

CHILD_TEST(a_file_with_a_name_outside_is_refused_and_one_with_all_inside_is_not, 0) {
        const char *both[] = { "xfs/w", "xfs/also" };
        const char *nested[] = { "xfs/w", "xfs/w/a", "xfs/w" };

        make_workspace();
        make_directory_of("xfs/also", PROJECT);
        shell("mkdir xfs/w/a && touch xfs/w/a/file && ln xfs/w/a/file xfs/w/other && ln xfs/w/a/file xfs/w/a/third");
        CHECK_OK(walk("xfs/w", &project_rules));
        shell("ln xfs/w/a/file xfs/also/outside");
        CHECK(walk("xfs/w", &project_rules) == -EMLINK);
        CHECK(strcmp(err.where, "xfs/w/other") == 0 || strcmp(err.where, "xfs/w/a/file") == 0 || strcmp(err.where, "xfs/w/a/third") == 0);
        CHECK(strstr(err.text, "4 names (hard links), and only 3"));
        CHECK_OK(walk_of(both, 2, &project_rules));
        /* A tree that is walked twice would count each of its names twice. */
        CHECK(walk_of(nested, 3, &project_rules) == -EMLINK);
        unlink("xfs/also/outside");
        CHECK_OK(walk_of(nested, 3, &project_rules));
}

CHILD_TEST(more_names_than_sixteen_bits_can_count_do_not_hide_one_outside, 0) {
        make_workspace();
        make_directory_of("xfs/also", PROJECT);
        CHECK(chdir("xfs") == 0);
        write_text("w/file", "");
        for (unsigned i = 1; i < 65536; i++) {
                char name[32];

                snprintf(name, sizeof name, "w/name-%u", i);
                CHECK(link("w/file", name) == 0);
        }
        CHECK_OK(walk("w", &project_rules));
        CHECK(link("w/file", "also/outside") == 0); /* 65,537 of them */
        CHECK(walk("w", &project_rules) == -EMLINK);
}

CHILD_TEST(symlinks_are_refused_unless_they_are_allowed, 0) {
        make_workspace();
        shell("mkdir xfs/w/a && ln -s /etc/passwd xfs/w/a/link");
        refused("xfs/w", "xfs/w/a/link", "a symlink, and allow_symlinks is false");
        CHECK_OK(walk("xfs/w", &with_symlinks));
}

CHILD_TEST(a_mount_and_another_device_are_refused, 0) {
        make_workspace();
        shell("mkdir -p xfs/w/a/b && mount -t tmpfs none xfs/w/a/b");
        refused("xfs/w", "xfs/w/a/b", "mounted");
        shell("umount xfs/w/a/b && mount --bind xfs/w/a xfs/w/a/b");
        refused("xfs/w", "xfs/w/a/b", "mounted");
}

CHILD_TEST(fifos_sockets_and_files_that_nobody_may_read_are_not_opened, 0) {
        make_workspace();
        shell("cd xfs/w && mkfifo fifo && mknod null c 1 3 && touch secret && chmod 0 secret && python3 -c 'import socket; "
              "socket.socket(socket.AF_UNIX).bind(\"socket\")'");
        set_attributes("xfs/w/secret", PROJECT, FS_XFLAG_NODUMP);
        CHECK_OK(walk("xfs/w", &project_rules)); /* a fifo without a writer would hang here, until the alarm */
        CHECK(sum.names == 4);
}

CHILD_TEST(a_tree_deeper_than_any_path_is_walked_with_few_descriptors, 0) {
        struct rlimit few = { 32, 32 };

        make_workspace();
        CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0);
        CHECK(chdir("xfs/w") == 0);
        for (int i = 0; i < 5000; i++)
                CHECK(mkdir("directory", 0755) == 0 && chdir("directory") == 0);
        set_attributes(".", 7, FS_XFLAG_PROJINHERIT);
        CHECK(chdir(scratch) == 0);
        CHECK(walk("xfs/w", &project_rules) == -EXDEV);
        CHECK(sum.directories == 5001);
}

CHILD_TEST(without_a_project_only_symlinks_are_looked_for, 0) {
        static const struct walk_rules rules = { .in_project = false }, any = { .allow_symlinks = true };

        shell("mkdir -p w/a && touch w/a/file && ln w/a/file outside");
        CHECK_OK(walk("w", &rules));
        shell("ln -s nowhere w/a/link");
        CHECK(walk("w", &rules) == -ELOOP);
        CHECK(strcmp(err.where, "w/a/link") == 0);
        CHECK_OK(walk("w", &any));
}

CHILD_TEST(a_warm_walk_sees_a_good_many_names_a_second, 0) {
        uint64_t began, took;

        make_workspace();
        shell("cd xfs/w && for i in $(seq 40); do mkdir d-$i && (cd d-$i && seq 500 | xargs touch); done");
        CHECK_OK(walk("xfs/w", &project_rules));
        began = time_monotonic_us();
        CHECK_OK(walk("xfs/w", &project_rules));
        took = time_monotonic_us() - began;
        printf("# %llu names, %llu a second\n", (unsigned long long)sum.names,
                (unsigned long long)(sum.names * 1000000 / (took ? took : 1)));
        fflush(stdout);
}

CHILD_TEST(a_signal_that_should_end_us_ends_a_walk, 0) {
        struct walk_rules rules = project_rules;
        struct interruption interruption;
        sigset_t set;

        make_workspace();
        sigemptyset(&set);
        sigaddset(&set, SIGTERM);
        CHECK(sigprocmask(SIG_BLOCK, &set, NULL) == 0);
        CHECK_OK(interruption_open(&interruption, &err));
        rules.interruption = &interruption;
        CHECK_OK(walk("xfs/w", &rules));
        CHECK(kill(getpid(), SIGTERM) == 0);
        CHECK(walk("xfs/w", &rules) < 0 && err.code == CODE_INTERRUPTED && interruption.signal == SIGTERM);
}

static void links_count_by_inode(void **state) {
        struct workspace_links links = { 0 }, fewer = { 0 };

        (void)state;
        assert_null(workspace_links_find(&links, 1));
        assert_null(workspace_links_missing(&links, NULL));
        for (uint64_t i = 1; i <= 5000; i++)
                for (unsigned seen = 0; seen < 2; seen++)
                        assert_int_equal(workspace_links_count(&links, i * 64, i == 77 ? 3 : 2), 0);
        assert_int_equal(links.n, 5000);
        assert_int_equal(workspace_links_find(&links, 64)->seen, 2);
        assert_int_equal(workspace_links_missing(&links, NULL)->inode, 77 * 64);
        assert_null(workspace_links_missing(&links, &fewer));
        assert_int_equal(workspace_links_count(&fewer, 77 * 64, 2), 0);
        assert_non_null(workspace_links_missing(&links, &fewer));
        workspace_links_free(&links);
        workspace_links_free(&fewer);
}

int main(void) {
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(links_count_by_inode),
                cmocka_unit_test(every_name_of_a_tree_in_order_is_seen),
                cmocka_unit_test(what_belongs_to_another_project_is_refused),
                cmocka_unit_test(a_directory_that_does_not_pass_its_project_on_is_refused),
                cmocka_unit_test(a_file_with_a_name_outside_is_refused_and_one_with_all_inside_is_not),
                cmocka_unit_test(more_names_than_sixteen_bits_can_count_do_not_hide_one_outside),
                cmocka_unit_test(symlinks_are_refused_unless_they_are_allowed),
                cmocka_unit_test(a_mount_and_another_device_are_refused),
                cmocka_unit_test(fifos_sockets_and_files_that_nobody_may_read_are_not_opened),
                cmocka_unit_test(a_tree_deeper_than_any_path_is_walked_with_few_descriptors),
                cmocka_unit_test(without_a_project_only_symlinks_are_looked_for),
                cmocka_unit_test(a_signal_that_should_end_us_ends_a_walk),
                cmocka_unit_test(a_warm_walk_sees_a_good_many_names_a_second),
        };

        return RUN_TESTS(tests);
}
