#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/process.h"
#include "base/time.h"
#include "libocispec/spec.h"
#include "life/gate.h"
#include "life/state.h"

static void ids_are_file_names_and_no_options(void **state) {
        static const char *const good[] = { "a", "A-b_c.d+9", "0", "_x", "+x" };
        static const char *const bad[] = { "", ".", "..", ".a", "-a", "a/b", "a b", "ä", "a\n", "a:b" };
        char longest[257];
        (void)state;

        for (size_t i = 0; i < ELEMENTSOF(good); i++)
                assert_true(state_id_valid(good[i]));
        for (size_t i = 0; i < ELEMENTSOF(bad); i++)
                assert_false(state_id_valid(bad[i]));
        memset(longest, 'a', 256);
        longest[256] = '\0';
        assert_false(state_id_valid(longest));
        assert_true(state_id_valid(longest + 1));
}

/* A container as launch.c would have it after its first save. INIT may be NULL. */
static void make_container(const char *root, struct status_process_claim *init, struct container *c) {
        static char boot_id[37];
        struct error err;

        assert_int_equal(process_boot_id(boot_id), 0);
        assert_int_equal(container_create(root, "box", c, &err), 0);
        c->status = (struct status_status){ .schema = 1, .id = "box", .bundle = "/b", .created = time_realtime_ns(), .boot_id = boot_id, .init = init };
        assert_int_equal(container_save(c, &err), 0);
}

static void one_id_is_one_container(void **state) {
        _cleanup_container_ struct container c = CONTAINER_CLOSED, again = CONTAINER_CLOSED;
        struct error err;

        make_container(*state, NULL, &c);
        assert_true(container_create(*state, "box", &again, &err) < 0);
        assert_int_equal(err.code, CODE_EXISTS);
        assert_int_equal(container_remove(&c, &err), 0);
        assert_int_equal(container_create(*state, "box", &again, &err), 0);
}

static int removed_unlocked; /* how many of the directories that are made next are removed before anybody can lock them */

/* In place of libc's: `gc` takes what it finds without a status and without a lock. */
int mkdirat(int dir, const char *path, mode_t mode) {
        int r = (int)syscall(SYS_mkdirat, dir, path, mode);

        if (r == 0 && removed_unlocked > 0 && removed_unlocked--)
                assert_int_equal(unlinkat(dir, path, AT_REMOVEDIR), 0);
        return r;
}

static void a_directory_that_gc_took_before_it_was_locked_is_made_again(void **state) {
        _cleanup_container_ struct container c = CONTAINER_CLOSED, again = CONTAINER_CLOSED;
        struct error err;

        removed_unlocked = 3;
        make_container(*state, NULL, &c);
        assert_int_equal(container_remove(&c, &err), 0);
        removed_unlocked = 1000;
        assert_true(container_create(*state, "box", &again, &err) < 0);
        assert_int_equal(err.code, CODE_NOT_FOUND);
        removed_unlocked = 0;
}

static void an_unknown_container_is_named_in_the_words_engines_look_for(void **state) {
        _cleanup_arena_ struct arena arena = { 0 };
        struct container c = CONTAINER_CLOSED;
        struct error err;

        assert_true(container_open(&arena, *state, "nope", CONTAINER_UNLOCKED, &c, &err) < 0);
        assert_int_equal(err.code, CODE_NOT_FOUND);
        assert_non_null(strstr(err.text, "does not exist"));
        assert_true(container_open(&arena, "/nonexistent/root", "nope", CONTAINER_UNLOCKED, &c, &err) < 0);
        assert_int_equal(err.code, CODE_NOT_FOUND);
}

static int on_its_way_out = -1; /* the root below which "box" is removed between two looks at it */

/* What container_open() waits with, in place of libc's. */
int usleep(useconds_t microseconds) {
        (void)microseconds;
        assert_true(on_its_way_out >= 0);
        assert_int_equal(unlinkat(on_its_way_out, "box", AT_REMOVEDIR), 0);
        on_its_way_out = -1;
        return 0;
}

static void a_container_on_its_way_out_is_not_creating(void **state) {
        _cleanup_arena_ struct arena arena = { 0 };
        _cleanup_container_ struct container c = CONTAINER_CLOSED, seen = CONTAINER_CLOSED;
        struct error err;

        make_container(*state, NULL, &c);
        assert_int_equal(unlinkat(c.dir, "status.json", 0), 0);
        on_its_way_out = c.root;
        assert_true(container_open(&arena, *state, "box", CONTAINER_UNLOCKED, &seen, &err) < 0);
        assert_int_equal(err.code, CODE_NOT_FOUND);
        assert_int_equal(on_its_way_out, -1);
}

static void expect_status(const char *root, enum oci_status expected) {
        _cleanup_arena_ struct arena arena = { 0 };
        _cleanup_container_ struct container c = CONTAINER_CLOSED;
        enum oci_status found;
        struct error err;

        assert_int_equal(container_open(&arena, root, "box", CONTAINER_UNLOCKED, &c, &err), 0);
        assert_int_equal(container_state(&c, &found, NULL, &err), 0);
        assert_int_equal(found, expected);
}

static void status_is_asked_of_the_kernel(void **state) {
        _cleanup_container_ struct container c = CONTAINER_CLOSED;
        _cleanup_close_ int pidfd = -1, listener = -1, connection = -1;
        struct status_process_claim init = { 0 };
        struct error err;
        bool dead;
        int status;

        make_container(*state, NULL, &c);
        expect_status(*state, OCI_STATUS_CREATING);

        init.pid = process_clone(0, -1, &pidfd);
        if (init.pid == 0) {
                pause();
                _exit(0);
        }
        assert_int_equal(process_start_time(init.pid, &init.start_time, &dead), 0);
        c.status.init = &init;
        assert_int_equal(container_save(&c, &err), 0);
        expect_status(*state, OCI_STATUS_RUNNING);
        assert_int_equal(gate_open(c.dir, &listener, &err), 0);
        expect_status(*state, OCI_STATUS_CREATING);
        assert_int_equal(gate_ready(c.dir, &err), 0);
        expect_status(*state, OCI_STATUS_CREATED);
        assert_int_equal(gate_connect(c.dir, &connection, &err), 0);
        expect_status(*state, OCI_STATUS_RUNNING);

        /* A zombie has stopped, although its pid is still taken; and a reused pid is somebody else. */
        assert_int_equal(process_signal(pidfd, SIGKILL), 0);
        assert_int_equal(process_wait_end(pidfd, 5000), 0);
        expect_status(*state, OCI_STATUS_STOPPED);
        assert_int_equal(process_reap(pidfd, &status), 0);
        assert_int_equal(status, 128 + SIGKILL);
        init.pid = getpid();
        assert_int_equal(process_start_time(init.pid, &init.start_time, &dead), 0);
        init.start_time++; /* ticks are 10 ms long: we may well have begun in the same one as our child */
        assert_int_equal(container_save(&c, &err), 0);
        expect_status(*state, OCI_STATUS_STOPPED);
}

static void pids_of_another_boot_mean_nothing(void **state) {
        _cleanup_container_ struct container c = CONTAINER_CLOSED;
        struct status_process_claim init = { .pid = getpid() };
        struct error err;
        bool dead;

        assert_int_equal(process_start_time(init.pid, &init.start_time, &dead), 0);
        make_container(*state, &init, &c);
        expect_status(*state, OCI_STATUS_RUNNING);
        c.status.boot_id = "00000000-0000-0000-0000-000000000000";
        assert_int_equal(container_save(&c, &err), 0);
        expect_status(*state, OCI_STATUS_STOPPED);
}

static void what_sage_asks_of_a_container_is_in_its_state(void **state) {
        _cleanup_container_ struct container c = CONTAINER_CLOSED, again = CONTAINER_CLOSED;
        struct sage_limits limits = { .has = SAGE_LIMITS_HAS_CPU | SAGE_LIMITS_HAS_DISK, .cpu = SAGE_LIMIT_STATE_HARD,
                                      .disk = SAGE_LIMIT_STATE_SAMPLED };
        _cleanup_arena_ struct arena arena = { 0 };
        _cleanup_str_ struct str text = { 0 };
        struct oci_state said;
        struct error err;

        make_container(*state, NULL, &c);
        assert_null(container_describe(&arena, &c, OCI_STATUS_CREATED).sage);
        c.status.sage_fingerprint = "sha256:0";
        c.status.limits = &limits;
        assert_int_equal(container_save(&c, &err), 0);
        assert_int_equal(container_open(&arena, *state, "box", CONTAINER_UNLOCKED, &again, &err), 0);
        said = container_describe(&arena, &again, OCI_STATUS_CREATED);
        assert_int_equal(spec_encode(&oci_state_type, &said, &text, 0, &err), 0);
        assert_non_null(strstr(text.text, "\"sage\":{\"fingerprint\":\"sha256:0\",\"limits\":{\"cpu\":\"hard\",\"memory\":null,"
                                          "\"disk\":\"sampled\",\"process_count\":null}}"));
}

static void a_directory_without_a_status_opens_and_can_be_removed(void **state) {
        _cleanup_arena_ struct arena arena = { 0 };
        _cleanup_container_ struct container c = CONTAINER_CLOSED;
        char path[128];
        struct error err;

        snprintf(path, sizeof path, "%s/box", (char *)*state);
        assert_int_equal(mkdir(path, 0700), 0);
        assert_int_equal(container_open(&arena, *state, "box", CONTAINER_LOCKED, &c, &err), 0);
        assert_int_equal(c.status.schema, 0);
        assert_int_equal(container_remove(&c, &err), 0);
        assert_int_equal(access(path, F_OK), -1);
}

static void a_damaged_status_is_told_and_kept(void **state) {
        _cleanup_arena_ struct arena arena = { 0 };
        _cleanup_container_ struct container c = CONTAINER_CLOSED, opened = CONTAINER_CLOSED;
        struct error err;

        make_container(*state, NULL, &c);
        assert_int_equal(file_replace(c.dir, "status.json", 0600, "{\"schema\":", 10), 0);
        assert_true(container_open(&arena, *state, "box", CONTAINER_UNLOCKED, &opened, &err) < 0);
        assert_int_equal(err.code, CODE_STATE_CORRUPT);
        assert_int_equal(faccessat(c.dir, "status.json", F_OK, 0), 0);
}

/* What a runtime leaves that is killed while exec makes room below a limit on processes (room.h). */
static void whoever_locks_a_container_puts_its_limit_on_processes_back(void **state) {
        static const struct { const char *found, *left; enum container_lock lock; } cases[] = {
                { "3\n", "3\n", CONTAINER_UNLOCKED }, { "3\n", "2", CONTAINER_LOCKED }, { "3\n", "2", CONTAINER_LOCKED_AT_ONCE },
                { "2\n", "2\n", CONTAINER_LOCKED },    { "7\n", "7\n", CONTAINER_LOCKED }, { "max\n", "max\n", CONTAINER_LOCKED },
        };
        char path[128];
        struct status_cgroup_claim claim = { .path = path, .ours = 1 };
        _cleanup_container_ struct container c = CONTAINER_CLOSED;
        _cleanup_arena_ struct arena arena = { 0 };
        struct error err;

        snprintf(path, sizeof path, "%s/cgroup", (char *)*state);
        assert_int_equal(mkdir(path, 0700), 0);
        make_container(*state, NULL, &c);
        c.status.cgroup = &claim;
        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_container_ struct container opened = CONTAINER_CLOSED, again = CONTAINER_CLOSED;
                _cleanup_close_ int cgroup = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                _cleanup_str_ struct str left = { 0 };

                container_unlock(&c);
                assert_int_equal(file_replace(cgroup, "pids.max", 0600, cases[i].found, strlen(cases[i].found)), 0);
                c.status.has |= STATUS_STATUS_HAS_ROOM;
                c.status.room = 2;
                assert_int_equal(container_save(&c, &err), 0);
                assert_int_equal(container_open(&arena, *state, "box", cases[i].lock, &opened, &err), 0);
                assert_int_equal(file_read(cgroup, "pids.max", 64, &left), 0);
                assert_int_equal(strncmp(left.text, cases[i].left, strlen(cases[i].left)), 0);
                assert_int_equal(container_open(&arena, *state, "box", CONTAINER_UNLOCKED, &again, &err), 0);
                assert_int_equal(!(again.status.has & STATUS_STATUS_HAS_ROOM), cases[i].lock != CONTAINER_UNLOCKED);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(ids_are_file_names_and_no_options),
                cmocka_unit_test_setup_teardown(one_id_is_one_container, make_directory, remove_directory),
                cmocka_unit_test_setup_teardown(a_directory_that_gc_took_before_it_was_locked_is_made_again, make_directory, remove_directory),
                cmocka_unit_test_setup_teardown(an_unknown_container_is_named_in_the_words_engines_look_for, make_directory, remove_directory),
                cmocka_unit_test_setup_teardown(a_container_on_its_way_out_is_not_creating, make_directory, remove_directory),
                cmocka_unit_test_setup_teardown(status_is_asked_of_the_kernel, make_directory, remove_directory),
                cmocka_unit_test_setup_teardown(pids_of_another_boot_mean_nothing, make_directory, remove_directory),
                cmocka_unit_test_setup_teardown(what_sage_asks_of_a_container_is_in_its_state, make_directory, remove_directory),
                cmocka_unit_test_setup_teardown(a_directory_without_a_status_opens_and_can_be_removed, make_directory, remove_directory),
                cmocka_unit_test_setup_teardown(a_damaged_status_is_told_and_kept, make_directory, remove_directory),
                cmocka_unit_test_setup_teardown(whoever_locks_a_container_puts_its_limit_on_processes_back, make_directory, remove_directory),
        };

        return RUN_TESTS(tests);
}
