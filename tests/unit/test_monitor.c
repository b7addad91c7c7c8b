/* The monitor's parts: the account of CPU time, what a process uses, the sizes of files. */
#define _GNU_SOURCE
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/str.h"
#include "monitor/sample.h"
#include "monitor/throttle.h"
#include "monitor/volume.h"

/* What runs whenever it may, on CPUS, for a while: how much of one CPU it gets in the end, in percent. */
static unsigned share(double percent, unsigned cpus) {
        struct throttle t = { .rate = throttle_rate(percent) };
        uint64_t now = 0, used = 0, pause = 0;

        while (now < 60 * 1000000) {
                uint64_t step = pause ? pause : 20000, use = pause ? 0 : step * cpus;

                now += step;
                used += use;
                pause = throttle_account(&t, step, use);
        }
        return (unsigned)(used * 100 / now);
}

static void who_runs_whenever_it_may_gets_its_share(void **state) {
        static const struct {
                double percent;
                unsigned cpus;
        } rows[] = { { 1, 1 }, { 20, 1 }, { 50, 1 }, { 50, 8 }, { 99, 1 }, { 150, 2 }, { 700, 8 } };

        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                unsigned got = share(rows[i].percent, rows[i].cpus), wanted = (unsigned)rows[i].percent;

                if (got > wanted + 1 + wanted / 20 || got + 1 + wanted / 20 < wanted)
                        FAIL("%u%% on %u: %u%%", wanted, rows[i].cpus, got);
        }
        assert_int_equal(share(100, 1), 100);
        assert_int_equal(share(1000000, 4), 400);
}

static void a_pause_is_not_saved_up(void **state) {
        struct throttle t = { .rate = throttle_rate(100) };

        (void)state;
        assert_int_equal(throttle_account(&t, 3600 * UINT64_C(1000000), 0), 0);
        assert_int_equal(throttle_account(&t, 0, 100000), 0);
        assert_int_equal(throttle_account(&t, 0, 1), 2);
        t = (struct throttle){ .rate = throttle_rate(50) };
        assert_int_equal(throttle_account(&t, 0, 1000), 2001);
        t = (struct throttle){ .rate = throttle_rate(1000000) };
        assert_int_equal(throttle_account(&t, UINT64_MAX / 2, 5), 0);
}

static void a_process_is_read_whatever_its_name_is(void **state) {
        int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC), ready[2], status;
        struct sample sample = { 0 };
        char byte;
        pid_t pid;

        (void)state;
        assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
        pid = fork();
        if (pid == 0) {
                char *memory = malloc(8 << 20);
                int fd = open("/proc/self/comm", O_WRONLY | O_CLOEXEC);

                (void)!write(fd, ") R 1 ( x", 9);
                memset(memory, 1, 8 << 20);
                (void)!write(ready[1], memory, 1);
                pause();
                _exit(0);
        }
        assert_int_equal(read(ready[0], &byte, 1), 1);
        sample_add(proc, pid, &sample);
        assert_int_equal(sample.tasks, 1);
        assert_in_range(sample.memory_bytes, 8 << 20, 64 << 20);
        assert_false(sample_is_init(proc, pid));
        assert_false(sample_is_stopped(proc, pid));
        kill(pid, SIGSTOP);
        waitpid(pid, &status, WUNTRACED);
        assert_true(sample_is_stopped(proc, pid));
        kill(pid, SIGKILL);
        waitpid(pid, &status, 0);
        sample_add(proc, pid, &sample);
        assert_int_equal(sample.tasks, 1);
        close(ready[0]);
        close(ready[1]);
        close(proc);
}

static void make_file(int dir, const char *name, off_t size) {
        int fd = openat(dir, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

        assert_true(fd >= 0);
        assert_int_equal(ftruncate(fd, size), 0);
        close(fd);
}

static void sizes_are_summed_however_deep_and_links_once(void **state) {
        int top = open(*state, O_RDONLY | O_DIRECTORY | O_CLOEXEC), at = dup(top), next;
        uint64_t bytes = 7;

        make_file(top, "a", 1000);
        make_file(top, "sparse", 1 << 23);
        assert_int_equal(linkat(top, "a", top, "b", 0), 0);
        assert_int_equal(symlinkat("a", top, "c"), 0);
        assert_int_equal(symlinkat("/usr", top, "usr"), 0);
        assert_int_equal(mkfifoat(top, "fifo", 0600), 0);
        for (int i = 0; i < 300; i++) {
                assert_int_equal(mkdirat(at, "empty", 0700), 0);
                assert_int_equal(mkdirat(at, "deeper", 0700), 0);
                make_file(at, "x", 10);
                next = openat(at, "deeper", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                assert_true(next >= 0);
                close(at);
                at = next;
        }
        assert_int_equal(volume_measure(&top, 1, NULL, NULL, &bytes), 0);
        assert_int_equal(bytes, 1000 + (1 << 23) + 3000);
        assert_int_equal(volume_measure(NULL, 0, NULL, NULL, &bytes), 0);
        assert_int_equal(bytes, 0);
        close(at);
        close(top);
}

/* What a file system keeps for a file counts, and what takes an inode is not for nothing. */
static void nothing_that_takes_room_is_for_nothing(void **state) {
        int top = open(*state, O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd;
        uint64_t bytes;
        char name[16];

        for (int i = 0; i < 100; i++) {
                snprintf(name, sizeof name, "empty%d", i);
                if (i % 2)
                        make_file(top, name, 0);
                else
                        assert_int_equal(mkdirat(top, name, 0700), 0);
        }
        assert_int_equal(volume_measure(&top, 1, NULL, NULL, &bytes), 0);
        assert_int_equal(bytes, 100 * 4096);
        fd = openat(top, "kept", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        if (fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, 8 << 20) == 0) {
                assert_int_equal(volume_measure(&top, 1, NULL, NULL, &bytes), 0);
                assert_true(bytes >= 8 << 20);
        }
        close(fd);
        close(top);
}

/* While directories are looked at, what stands in front of them is moved away from under whoever looks. */
struct mover {
        int top;
        unsigned turns;
};

static int move_away(uint64_t bytes, void *data) {
        struct mover *mover = data;

        (void)bytes;
        return ++mover->turns == 1 ? renameat(mover->top, "one/two", mover->top, "three") : 0;
}

static int end_it(uint64_t bytes, void *data) {
        (void)data;
        return bytes >= 256 * 4096 ? -ETIMEDOUT : 0;
}

static void a_walk_that_is_led_astray_says_so(void **state) {
        int top = open(*state, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        struct mover mover = { .top = top };
        uint64_t bytes = 7;
        char name[32];

        assert_int_equal(mkdirat(top, "one", 0700), 0);
        assert_int_equal(mkdirat(top, "one/two", 0700), 0);
        for (int i = 0; i < 300; i++) {
                snprintf(name, sizeof name, "one/two/%d", i);
                make_file(top, name, 0);
        }
        assert_int_equal(volume_measure(&top, 1, end_it, NULL, &bytes), -ETIMEDOUT);
        assert_int_equal(bytes, 7);
        assert_int_equal(volume_measure(&top, 1, move_away, &mover, &bytes), -ESTALE);
        assert_int_equal(bytes, 302 * 4096);
        assert_int_equal(volume_measure(&top, 1, move_away, &mover, &bytes), 0);
        close(top);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(who_runs_whenever_it_may_gets_its_share),
                cmocka_unit_test(a_pause_is_not_saved_up),
                cmocka_unit_test(a_process_is_read_whatever_its_name_is),
                cmocka_unit_test_setup_teardown(sizes_are_summed_however_deep_and_links_once, make_directory, remove_directory),
                cmocka_unit_test_setup_teardown(nothing_that_takes_room_is_for_nothing, make_directory, remove_directory),
                cmocka_unit_test_setup_teardown(a_walk_that_is_led_astray_says_so, make_directory, remove_directory),
        };

        return RUN_TESTS(tests);
}
