/* How a supervised command ended, from what is known of it; and the numbers of a cgroup that this is known from. */
#define _GNU_SOURCE
#include "unit.h"

#include <fcntl.h>
#include <signal.h>

#include "apply/cgroup_usage.h"
#include "base/str.h"
#include "life/outcome.h"

#define EXIT(n) .process = { .exit_code = (n) }
#define DEATH(n) .process = { .signal = (n) }
#define COUNT(use, n) { .has = 1u << (use), .of = { [use] = (n) } }

static const struct output_budget over = { .total = 11, .over = true }, within = { .total = 10 };
static const struct sage_disk full = { .has = SAGE_DISK_HAS_USED_BYTES | SAGE_DISK_HAS_LIMIT_BYTES, .used_bytes = 1 << 20, .limit_bytes = 1 << 20 };
static const struct sage_disk no_inodes = { .has = SAGE_DISK_HAS_USED_INODES | SAGE_DISK_HAS_LIMIT_INODES, .used_inodes = 9, .limit_inodes = 9 };
static const struct sage_disk half = { .has = SAGE_DISK_HAS_USED_BYTES | SAGE_DISK_HAS_LIMIT_BYTES, .used_bytes = 1 << 19, .limit_bytes = 1 << 20 };

static struct loss memory = { .limit = "memory" }, processes = { .limit = "process_count" }, disk = { .limit = "disk" }, other = { .limit = "" };

static void the_outcome_is_what_ended_it_then_what_made_it_fail(void **state) {
        static const struct row {
                const char *what;
                struct ending ending;
                enum code code;
                enum sage_outcome outcome;
                int status;
        } rows[] = {
                { "an exit", { .launched = true, EXIT(3) }, 0, SAGE_OUTCOME_EXITED, 3 },
                { "a signal", { .launched = true, DEATH(SIGSEGV) }, 0, SAGE_OUTCOME_SIGNALLED, 139 },
                { "a timeout", { .launched = true, .reason = END_TIMEOUT, DEATH(SIGKILL) }, 0, SAGE_OUTCOME_TIMED_OUT, 124 },
                { "a timeout before it ran", { .reason = END_TIMEOUT }, 0, SAGE_OUTCOME_TIMED_OUT, 124 },
                { "a cancel", { .launched = true, .reason = END_CANCELLED, .cancelled_by = SIGINT, DEATH(SIGKILL) }, 0, SAGE_OUTCOME_SIGNALLED, 130 },
                { "no launch", { 0 }, CODE_CONFIG_INVALID, SAGE_OUTCOME_LAUNCH_FAILED, 0 },
                { "what does not die, in a timeout", { .launched = true, .reason = END_TIMEOUT }, CODE_LOST, SAGE_OUTCOME_LOST, 124 },
                { "its own cgroup ran out of memory", { .launched = true, DEATH(SIGKILL), .own = COUNT(USE_OOM_KILLS, 1) }, 0, SAGE_OUTCOME_OOM_KILLED, 137 },
                { "a child of it did", { .launched = true, EXIT(1), .own = COUNT(USE_OOM_KILLS, 1) }, 0, SAGE_OUTCOME_OOM_KILLED, 1 },
                { "and it went on", { .launched = true, EXIT(0), .own = COUNT(USE_OOM_KILLS, 1) }, 0, SAGE_OUTCOME_EXITED, 0 },
                { "the container did, and it was hit", { .launched = true, DEATH(SIGKILL), .before = COUNT(USE_OOM_KILLS, 4), .after = COUNT(USE_OOM_KILLS, 5) }, 0, SAGE_OUTCOME_OOM_KILLED, 137 },
                { "the container did, and its shell says so", { .launched = true, EXIT(137), .before = COUNT(USE_OOM_KILLS, 4), .after = COUNT(USE_OOM_KILLS, 5) }, 0, SAGE_OUTCOME_OOM_KILLED, 137 },
                { "the container did, but it just failed", { .launched = true, EXIT(1), .before = COUNT(USE_OOM_KILLS, 4), .after = COUNT(USE_OOM_KILLS, 5) }, 0, SAGE_OUTCOME_EXITED, 1 },
                { "the container had before", { .launched = true, DEATH(SIGKILL), .before = COUNT(USE_OOM_KILLS, 4), .after = COUNT(USE_OOM_KILLS, 4) }, 0, SAGE_OUTCOME_SIGNALLED, 137 },
                { "no room for a process, in its own", { .launched = true, EXIT(2), .own = COUNT(USE_PIDS_REFUSED, 3) }, 0, SAGE_OUTCOME_PIDS_LIMITED, 2 },
                { "no room for a process, around", { .launched = true, EXIT(2), .own = COUNT(USE_PIDS_REFUSED, 0), .before = COUNT(USE_PIDS_REFUSED, 0), .after = COUNT(USE_PIDS_REFUSED, 1) }, 0, SAGE_OUTCOME_PIDS_LIMITED, 2 },
                { "no room, and it succeeded", { .launched = true, EXIT(0), .own = COUNT(USE_PIDS_REFUSED, 3) }, 0, SAGE_OUTCOME_EXITED, 0 },
                { "a fork bomb in a timeout", { .launched = true, .reason = END_TIMEOUT, DEATH(SIGKILL), .own = COUNT(USE_PIDS_REFUSED, 3) }, 0, SAGE_OUTCOME_TIMED_OUT, 124 },
                { "a full disk", { .launched = true, EXIT(1), .disk = &full }, 0, SAGE_OUTCOME_QUOTA_EXCEEDED, 1 },
                { "no more inodes", { .launched = true, EXIT(1), .disk = &no_inodes }, 0, SAGE_OUTCOME_QUOTA_EXCEEDED, 1 },
                { "a store beyond it", { .launched = true, DEATH(SIGBUS), .disk = &full }, 0, SAGE_OUTCOME_QUOTA_EXCEEDED, 135 },
                { "a full disk, and it succeeded", { .launched = true, EXIT(0), .disk = &full }, 0, SAGE_OUTCOME_EXITED, 0 },
                { "half a disk", { .launched = true, EXIT(1), .disk = &half }, 0, SAGE_OUTCOME_EXITED, 1 },
                { "a monitor's end for memory", { .launched = true, DEATH(SIGKILL), .loss = &memory }, 0, SAGE_OUTCOME_OOM_KILLED, 137 },
                { "for processes", { .launched = true, DEATH(SIGKILL), .loss = &processes }, 0, SAGE_OUTCOME_PIDS_LIMITED, 137 },
                { "for disk, found when it had ended", { .launched = true, EXIT(0), .loss = &disk }, 0, SAGE_OUTCOME_QUOTA_EXCEEDED, 0 },
                { "a sandbox lost before", { .launched = true, EXIT(3), .loss = &other }, 0, SAGE_OUTCOME_EXITED, 3 },
                { "too much output", { .launched = true, EXIT(0), .output = &over }, 0, SAGE_OUTCOME_OUTPUT_LIMIT, 0 },
                { "just as much as allowed", { .launched = true, EXIT(0), .output = &within }, 0, SAGE_OUTCOME_EXITED, 0 },
                { "too much output of a hog", { .launched = true, DEATH(SIGKILL), .output = &over, .own = COUNT(USE_OOM_KILLS, 1) }, 0, SAGE_OUTCOME_OOM_KILLED, 137 },
        };
        _cleanup_arena_ struct arena arena = { 0 };

        (void)state;
        for (const struct row *row = rows; row < rows + ELEMENTSOF(rows); row++) {
                struct error err = { .code = (uint16_t)row->code };
                struct sage_result record;

                outcome_record(&arena, "box", &row->ending, row->code ? &err : NULL, &record);
                if (record.outcome != row->outcome || outcome_status(&row->ending) != row->status)
                        FAIL("%s: %s, status %d", row->what, spec_enum_name(&sage_outcome_enum, (int)record.outcome), outcome_status(&row->ending));
        }
}

static void what_has_no_source_is_null(void **state) {
        static const struct ending some = {
                .launched = true, EXIT(0), .wall_us = 5, .counted = true, .killed = 2,
                .own = { .has = 1u << USE_CPU_US | 1u << USE_MEMORY_PEAK, .of = { [USE_CPU_US] = 7, [USE_MEMORY_PEAK] = 4096 } },
                .before = COUNT(USE_THROTTLED_PERIODS, 5), .after = COUNT(USE_THROTTLED_PERIODS, 8),
        };
        static const char expected[] =
                "{\"id\":\"box\",\"outcome\":\"exited\",\"exit_code\":0,\"signal\":null,\"wall_time_us\":5,\"cpu_time_us\":7,\"user_time_us\":null,"
                "\"system_time_us\":null,\"throttled_periods\":3,\"throttled_time_us\":null,\"memory_peak_bytes\":4096,\"pids_peak\":null,"
                "\"disk\":null,\"limits\":null,\"output_bytes\":null,\"processes_killed\":2,\"processes_left\":0,\"egress\":null,\"error\":null}";
        _cleanup_arena_ struct arena arena = { 0 };
        _cleanup_str_ struct str text = { 0 };
        struct sage_result record;
        struct error err;

        (void)state;
        outcome_record(&arena, "box", &some, NULL, &record);
        assert_int_equal(spec_encode(&sage_result_type, &record, &text, 0, &err), 0);
        assert_string_equal(text.text, expected);
}

static void put(const char *directory, const char *name, const char *text) {
        char path[128];
        FILE *file;

        snprintf(path, sizeof path, "%s/%s", directory, name);
        file = fopen(path, "we");
        assert_non_null(file);
        fputs(text, file);
        fclose(file);
}

static void a_cgroup_says_what_it_counts_and_no_more(void **state) {
        const char *directory = *state;
        int dir = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
        struct cgroup_usage usage;

        put(directory, "cpu.stat", "usage_usec 30\nuser_usec 20\nsystem_usec 10\nnr_throttledx 4\n");
        put(directory, "memory.events", "low 0\nhigh 1\nmax 2\noom 3\noom_kill 4\noom_group_kill 5\n");
        put(directory, "pids.peak", "12\n");
        put(directory, "memory.peak", "max\n");
        cgroup_usage_read(dir, &usage);
        assert_int_equal(usage.has, 1u << USE_CPU_US | 1u << USE_USER_US | 1u << USE_SYSTEM_US | 1u << USE_OOM_KILLS | 1u << USE_PIDS_PEAK);
        assert_int_equal(usage.of[USE_CPU_US], 30);
        assert_int_equal(usage.of[USE_SYSTEM_US], 10);
        assert_int_equal(usage.of[USE_OOM_KILLS], 4);
        assert_int_equal(usage.of[USE_PIDS_PEAK], 12);
        close(dir);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_outcome_is_what_ended_it_then_what_made_it_fail),
                cmocka_unit_test(what_has_no_source_is_null),
                cmocka_unit_test_setup_teardown(a_cgroup_says_what_it_counts_and_no_more, make_directory, remove_directory),
        };

        return RUN_TESTS(tests);
}
