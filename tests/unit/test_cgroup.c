/* Making and limiting cgroups. */
#define _GNU_SOURCE
#include "cgroups.h"

#include <errno.h>
#include <sys/stat.h>

#include "apply/cgroup_file.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/str.h"

static void missing_components_are_ours(void **state) {
        int fd;

        (void)state;
        assert_int_equal(ours(path("/a/b/c")), 4);
        fd = create(path("/a"), &nothing);
        close(fd);
        assert_int_equal(ours(path("/a/b/c")), 2);
        assert_int_equal(ours(path("/a")), 0);
        remove_all(path("/a"), 2);
        assert_false(exists(path("")));
}

static void a_new_cgroup_takes_a_process_and_goes_with_its_parents(void **state) {
        bool populated = false;
        struct error err;
        pid_t pid;
        int fd;

        (void)state;
        fd = create(path("/a/b/c"), &nothing);
        pid = start_in(fd, -1);
        assert_int_equal(cgroup_populated(fd, &populated, &err), 0);
        assert_true(populated);
        end(pid);
        assert_int_equal(cgroup_populated(fd, &populated, &err), 0);
        assert_false(populated);
        close(fd);
        remove_all(path("/a/b/c"), 4);
        assert_false(exists(path("")));
}

static void an_empty_cgroup_of_somebody_else_is_used_and_left(void **state) {
        int fd;

        (void)state;
        assert_int_equal(mkdir(path(""), 0755), 0);
        fd = create(path(""), &nothing);
        close(fd);
        remove_all(path(""), 0);
        assert_true(exists(path("")));
        assert_int_equal(rmdir(path("")), 0);
}

static void assert_not_used(const char *at) {
        struct error err;
        int fd = 77;

        assert_int_equal(cgroup_create(at, &nothing, &(unsigned){ 0 }, &fd, &err), -EBUSY);
        assert_int_equal(err.code, CODE_BUSY);
        assert_string_equal(err.where, at);
        assert_int_equal(fd, 77);
}

static void a_cgroup_that_others_use_is_refused(void **state) {
        _cleanup_close_ int fd = -1;
        pid_t pid;

        (void)state;
        fd = create(path("/x"), &nothing);
        pid = start_in(fd, -1);
        assert_not_used(path("/x"));
        assert_not_used(path("")); /* by its child */
        end(pid);
        assert_int_equal(file_write(fd, "cgroup.freeze", "1", 1), 0);
        assert_not_used(path("/x"));
        assert_int_equal(file_write(fd, "cgroup.freeze", "0", 1), 0);
        assert_int_equal(file_write(fd, "cgroup.type", "threaded", 8), 0);
        assert_not_used(path("/x"));
        remove_all(path("/x"), 2);
}

static void a_place_for_no_cgroup_is_an_error(void **state) {
        struct error err;
        unsigned n;
        int fd;

        (void)state;
        assert_true(cgroup_create("/sys/fs/cgroup/cgroup.procs/x", &nothing, &(unsigned){ 0 }, &fd, &err) < 0);
        assert_int_equal(err.code, CODE_LAUNCH_FAILED);
        assert_true(cgroup_ours("/sys/fs/cgroup/cgroup.procs/x", &n, &err) < 0);
}

static bool has_controller(const char *name) {
        char text[CGROUP_FILE_SIZE] = "";
        _cleanup_close_ int fd = open("/sys/fs/cgroup", O_PATH | O_DIRECTORY | O_CLOEXEC);

        return cgroup_file_read(fd, "cgroup.controllers", text) == 0 && cgroup_has_word(text, name);
}

static void a_controller_that_is_missing_names_the_field(void **state) {
        const char *names[] = { "nonsense" }, *wanted[] = { "nonsense", "pids" };
        struct plan_cgroup_write write = { .field = "linux.resources.unified", .file = "nonsense.max", .value = "1" };
        struct plan_cgroup cgroup = { .controllers = names, .n_controllers = 1, .writes = &write, .n_writes = 1 };
        struct error err;
        int fd = 77;

        (void)state;
        assert_int_equal(cgroup_create(path("/a"), &cgroup, &(unsigned){ 0 }, &fd, &err), -EOPNOTSUPP);
        assert_int_equal(err.code, CODE_RESOURCE_LIMITS_UNSUPPORTED);
        assert_string_equal(err.where, "linux.resources.unified");
        assert_int_equal(fd, 77);
        remove_all(path("/a"), 2);
        assert_false(exists(path("")));

        cgroup = (struct plan_cgroup){ .accounting = wanted, .n_accounting = 2 };
        fd = create(path("/a"), &cgroup);
        close(fd);
        remove_all(path("/a"), 2);
}

static void controllers_are_enabled_on_the_way_down(void **state) {
        const char *names[] = { "pids" };
        struct plan_cgroup_write write = { .field = "linux.resources.pids.limit", .file = "pids.max", .value = "7" };
        struct plan_cgroup cgroup = { .controllers = names, .n_controllers = 1, .writes = &write, .n_writes = 1 };
        char text[CGROUP_FILE_SIZE];
        struct error err;
        int fd;

        (void)state;
        if (!has_controller("pids")) {
                print_message("# no pids controller here\n");
                return;
        }
        fd = create(path("/a/b"), &cgroup);
        assert_int_equal(cgroup_limit(fd, &cgroup, &err), 0);
        assert_int_equal(cgroup_file_read(fd, "pids.max", text), 0);
        assert_string_equal(text, "7\n");
        close(fd);
        remove_all(path("/a/b"), 3);
}

/* ---- limits -------------------------------------------------------------------------------------------------------------- */

static void limits_are_written_in_order(void **state) {
        struct plan_cgroup_write writes[] = {
                { .field = "f[0]", .file = "cgroup.max.depth", .value = "5" },
                { .field = "f[1]", .file = "cgroup.max.depth", .value = "3" },
                { .field = "f[2]", .file = "not.there", .value = "1", .optional = true },
                { .field = "f[3]", .file = "not.there", .value = "1", .else_file = "cgroup.max.descendants", .else_value = "max" },
        };
        struct plan_cgroup cgroup = { .writes = writes, .n_writes = ELEMENTSOF(writes) };
        char text[CGROUP_FILE_SIZE];
        struct error err;
        int fd;

        (void)state;
        fd = create(path(""), &nothing);
        if (cgroup_limit(fd, &cgroup, &err) < 0)
                FAIL("%s: %s", err.where, err.text);
        assert_int_equal(cgroup_file_read(fd, "cgroup.max.depth", text), 0);
        assert_string_equal(text, "3\n");
        close(fd);
        remove_all(path(""), 1);
}

static void assert_limit_fails(int fd, const char *file, const char *value, enum code code) {
        struct plan_cgroup_write write = { .field = "linux.resources.unified", .file = file, .value = value };
        struct plan_cgroup cgroup = { .writes = &write, .n_writes = 1 };
        struct error err = { 0 };

        assert_true(cgroup_limit(fd, &cgroup, &err) < 0);
        assert_int_equal(err.code, code);
        assert_string_equal(err.where, "linux.resources.unified");
}

static void a_limit_that_cannot_be_set_leaves_nothing_behind(void **state) {
        unsigned claim;
        int fd;

        (void)state;
        claim = ours(path("/a/b"));
        fd = create(path("/a/b"), &nothing);
        assert_limit_fails(fd, "bogus.max", "1", CODE_RESOURCE_LIMITS_UNSUPPORTED);
        assert_limit_fails(fd, "cgroup.max.depth", "many", CODE_CONFIG_INVALID);
        assert_limit_fails(fd, "../cgroup.max.depth", "1", CODE_CONFIG_INVALID);
        close(fd);
        remove_all(path("/a/b"), claim);
        assert_false(exists(path("")));
}

/* A directory of ordinary files stands for a kernel that keeps something else than was written. */
static void a_number_that_was_not_kept_is_told(void **state) {
        char name[] = "/tmp/sage-unit.XXXXXX";
        _cleanup_close_ int fd = -1, file = -1;

        (void)state;
        assert_non_null(mkdtemp(name));
        fd = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        file = openat(fd, "pids.max", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        assert_int_equal(write(file, "9999\n", 5), 5);
        assert_limit_fails(fd, "pids.max", "5", CODE_RESOURCE_LIMITS_UNSUPPORTED); /* now it says 5999 */
        close_fd(&file);
        file = openat(fd, "cpu.max", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        assert_int_equal(write(file, "max 1000000\n", 12), 12);
        assert_limit_fails(fd, "cpu.max", "max 20", CODE_RESOURCE_LIMITS_UNSUPPORTED);
        unlinkat(fd, "pids.max", 0);
        unlinkat(fd, "cpu.max", 0);
        assert_int_equal(rmdir(name), 0);
}

int main(int argc, char **argv) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(missing_components_are_ours),
                cmocka_unit_test(a_new_cgroup_takes_a_process_and_goes_with_its_parents),
                cmocka_unit_test(an_empty_cgroup_of_somebody_else_is_used_and_left),
                cmocka_unit_test(a_cgroup_that_others_use_is_refused),
                cmocka_unit_test(a_place_for_no_cgroup_is_an_error),
                cmocka_unit_test(a_controller_that_is_missing_names_the_field),
                cmocka_unit_test(controllers_are_enabled_on_the_way_down),
                cmocka_unit_test(limits_are_written_in_order),
                cmocka_unit_test(a_limit_that_cannot_be_set_leaves_nothing_behind),
                cmocka_unit_test(a_number_that_was_not_kept_is_told),
        };

        (void)argc;
        return RUN_CGROUP_TESTS(argv, tests);
}
