#define _GNU_SOURCE
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "apply/tree_remove.h"
#include "base/fd.h"
#include "base/file.h"

enum { DEEP = 3000 };

static int open_directory(const char *path) {
        int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        assert_true(fd >= 0);
        return fd;
}

static void make_file(int dir, const char *name, mode_t mode) {
        _cleanup_close_ int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);

        assert_true(fd >= 0);
}

static bool exists(int dir, const char *name) {
        struct stat st;

        return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* NAME with DIRECTORIES directories in each other, a file in each, all of the mode MODE in the end. */
static void make_nest(int dir, const char *name, unsigned directories, mode_t mode) {
        int fd;

        assert_int_equal(mkdirat(dir, name, 0700), 0);
        fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        for (unsigned i = 0; i < directories; i++) {
                int next;

                make_file(fd, "0", 0600);
                assert_int_equal(mkdirat(fd, "d", 0700), 0);
                next = openat(fd, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                assert_true(next >= 0);
                assert_int_equal(fchmod(fd, mode), 0);
                close(fd);
                fd = next;
        }
        close(fd);
}

static void what_is_not_there_is_removed_already(void **state) {
        _cleanup_close_ int dir = open_directory(*state);
        struct error err;

        assert_int_equal(tree_remove(dir, "nothing", &err), 0);
}

static void everything_goes_and_no_link_is_followed(void **state) {
        _cleanup_close_ int dir = open_directory(*state), top = -1;
        struct error err;

        assert_int_equal(mkdirat(dir, "kept", 0700), 0);
        assert_int_equal(mkdirat(dir, "kept/inside", 0700), 0);
        make_nest(dir, "tree", 3, 0700);
        top = openat(dir, "tree", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_int_equal(symlinkat("../kept", top, "link"), 0);
        assert_int_equal(symlinkat("/", top, "d/root"), 0);
        assert_int_equal(mknodat(top, "fifo", S_IFIFO | 0600, 0), 0);
        assert_int_equal(tree_remove(dir, "tree", &err), 0);
        assert_false(exists(dir, "tree"));
        assert_true(exists(dir, "kept/inside"));
        assert_int_equal(symlinkat("kept", dir, "link"), 0);
        assert_true(tree_remove(dir, "link", &err) < 0);
        assert_int_equal(err.code, CODE_RELEASE_FAILED);
        assert_true(exists(dir, "kept/inside"));
}

/* Each has a descriptor only while it is looked at, so that few are enough. */
static void however_deep_it_is_a_few_descriptors_are_enough(void **state) {
        _cleanup_close_ int dir = open_directory(*state);
        struct rlimit was, few = { 80, 80 };
        struct error err;

        make_nest(dir, "tree", DEEP, 0700);
        make_file(dir, "tree/1", 0600); /* a name that a moved one would get */
        assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
        few.rlim_max = was.rlim_max;
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
        assert_int_equal(tree_remove(dir, "tree", &err), 0);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
        assert_false(exists(dir, "tree"));
}

/* In a process of its own, which ends with its assertions' failure. */
static void an_owner_who_took_the_rights_from_himself_gets_them_back(void **state) {
        int status;
        pid_t pid;

        assert_int_equal(chmod(*state, 0777), 0);
        pid = fork();
        if (pid == 0) {
                struct error err;
                int dir;

                if (geteuid() == 0 && setresuid(1001, 1001, 1001) < 0)
                        _exit(2);
                dir = open(*state, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                make_nest(dir, "tree", 60, 0500);
                make_nest(dir, "closed", 1, 0);
                _exit(tree_remove(dir, "tree", &err) < 0 || tree_remove(dir, "closed", &err) < 0 || exists(dir, "tree") ||
                        exists(dir, "closed"));
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(what_is_not_there_is_removed_already, make_directory, remove_directory),
                cmocka_unit_test_setup_teardown(everything_goes_and_no_link_is_followed, make_directory, remove_directory),
                cmocka_unit_test_setup_teardown(however_deep_it_is_a_few_descriptors_are_enough, make_directory, remove_directory),
                cmocka_unit_test_setup_teardown(an_owner_who_took_the_rights_from_himself_gets_them_back, make_directory, remove_directory),
        };

        return RUN_TESTS(tests);
}
