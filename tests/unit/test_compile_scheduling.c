/* process.scheduler, ioPriority and execCPUAffinity, linux.personality: each word's number, and every bad value by its field. */
#include "configs.h"

#include <linux/ioprio.h>
#include <linux/sched.h>
#include <sys/personality.h>

#include "plan/cpu_list.h"
#include "plan/scheduler.h"

/* The process whose members besides cwd and args are MEMBERS; NULL where it is refused, with ERR. */
static struct plan_process *process_of(const char *members) {
        struct oci_process *process = arena_new(&arena, struct oci_process);
        struct plan_process *ret = NULL;

        decode(&oci_process_type, arena_printf(&arena, "{\"cwd\":\"/\",\"args\":[\"sh\"],%s}", members), process);
        return compile_process(&arena, process, "process", &root_host, &ret, &err) < 0 ? NULL : ret;
}

static struct plan_process *fine(const char *members) {
        struct plan_process *p = process_of(members);

        if (!p)
                print_error("%s: %s: %s\n", members, err.where, err.text);
        assert_non_null(p);
        return p;
}

#define SCHEDULER(members) "\"scheduler\":{\"policy\":" members "}"

static void every_policy_and_flag_has_the_kernels_number(void **state) {
        static const struct { const char *json; struct plan_scheduler wanted; } rows[] = {
                { "\"SCHED_OTHER\"", { .policy = 0 } },
                { "\"SCHED_OTHER\",\"nice\":-20", { .policy = 0, .nice = -20 } },
                { "\"SCHED_FIFO\",\"priority\":1", { .policy = 1, .priority = 1 } },
                { "\"SCHED_RR\",\"priority\":99", { .policy = 2, .priority = 99 } },
                { "\"SCHED_BATCH\",\"nice\":19,\"priority\":0", { .policy = 3, .nice = 19 } },
                { "\"SCHED_IDLE\",\"runtime\":0", { .policy = 5 } },
                { "\"SCHED_DEADLINE\",\"runtime\":1024,\"deadline\":1024", { .policy = 6, .runtime = 1024, .deadline = 1024 } },
                { "\"SCHED_DEADLINE\",\"runtime\":1024,\"deadline\":9223372036854775807,\"period\":9223372036854775807",
                  { .policy = 6, .runtime = 1024, .deadline = INT64_MAX, .period = INT64_MAX } },
                { "\"SCHED_DEADLINE\",\"flags\":[\"SCHED_FLAG_KEEP_PARAMS\"]", { .policy = 6, .flags = 0x10 } },
                { "\"SCHED_FIFO\",\"flags\":[\"SCHED_FLAG_KEEP_PARAMS\",\"SCHED_FLAG_KEEP_POLICY\"]", { .policy = 1, .flags = 0x18 } },
                { "\"SCHED_OTHER\",\"flags\":[\"SCHED_FLAG_RESET_ON_FORK\",\"SCHED_FLAG_UTIL_CLAMP_MIN\",\"SCHED_FLAG_UTIL_CLAMP_MAX\"]",
                  { .policy = 0, .flags = 0x61 } },
                { "\"SCHED_DEADLINE\",\"runtime\":2000,\"deadline\":3000,\"flags\":[\"SCHED_FLAG_RECLAIM\",\"SCHED_FLAG_DL_OVERRUN\"]",
                  { .policy = 6, .runtime = 2000, .deadline = 3000, .flags = 0x06 } },
        };

        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                const struct plan_process *p = fine(arena_printf(&arena, SCHEDULER("%s"), rows[i].json));

                if (memcmp(p->scheduler, &rows[i].wanted, sizeof rows[i].wanted) != 0)
                        print_error("row %zu: %s\n", i, rows[i].json);
                assert_memory_equal(p->scheduler, &rows[i].wanted, sizeof rows[i].wanted);
                assert_int_equal(p->n_warnings, 0);
        }
        assert_null(fine("\"noNewPrivileges\":true")->scheduler);
        assert_string_equal(scheduler_policy_name(SCHED_BATCH), "SCHED_BATCH");
        assert_string_equal(scheduler_flag_name(SCHED_FLAG_RECLAIM), "SCHED_FLAG_RECLAIM");
        assert_null(scheduler_flag_name(1u << 20));
}

static void what_the_kernel_would_not_look_at_is_a_warning(void **state) {
        const struct plan_process *p = fine(SCHEDULER("\"SCHED_FIFO\",\"priority\":3,\"nice\":19,\"flags\":[\"SCHED_FLAG_RECLAIM\"]"));

        (void)state;
        assert_int_equal(p->n_warnings, 2);
        assert_string_equal(p->warnings[0],
                            "process.scheduler.nice: only SCHED_OTHER and SCHED_BATCH look at it, and the policy is SCHED_FIFO");
        assert_non_null(strstr(p->warnings[1], "process.scheduler.flags: only SCHED_DEADLINE"));
}

static const struct { const char *json, *where, *text; enum code code; } refused[] = {
        { SCHEDULER("\"SCHED_ISO\""), "scheduler.policy", "SCHED_ISO", CODE_CAPABILITY_UNSUPPORTED },
        { SCHEDULER("\"SCHED_OTHER\",\"priority\":1"), "scheduler.priority", "the policy is SCHED_OTHER", CODE_CONFIG_INVALID },
        { SCHEDULER("\"SCHED_BATCH\",\"priority\":99"), "scheduler.priority", "SCHED_BATCH", CODE_CONFIG_INVALID },
        { SCHEDULER("\"SCHED_IDLE\",\"priority\":1"), "scheduler.priority", "SCHED_IDLE", CODE_CONFIG_INVALID },
        { SCHEDULER("\"SCHED_FIFO\""), "scheduler.priority", "1 to 99, found 0", CODE_CONFIG_INVALID },
        { SCHEDULER("\"SCHED_RR\",\"priority\":0"), "scheduler.priority", "1 to 99, found 0", CODE_CONFIG_INVALID },
        { SCHEDULER("\"SCHED_DEADLINE\",\"runtime\":2000,\"deadline\":3000,\"priority\":5"),
          "scheduler.priority", "SCHED_DEADLINE", CODE_CONFIG_INVALID },
        { SCHEDULER("\"SCHED_OTHER\",\"runtime\":1"), "scheduler.runtime", "only SCHED_DEADLINE", CODE_CONFIG_INVALID },
        { SCHEDULER("\"SCHED_RR\",\"priority\":1,\"deadline\":1"), "scheduler.deadline", "only SCHED_DEADLINE", CODE_CONFIG_INVALID },
        { SCHEDULER("\"SCHED_IDLE\",\"period\":1"), "scheduler.period", "only SCHED_DEADLINE", CODE_CONFIG_INVALID },
        { SCHEDULER("\"SCHED_DEADLINE\""), "scheduler.runtime", "at least 1024 ns, found 0", CODE_CONFIG_INVALID },
        { SCHEDULER("\"SCHED_DEADLINE\",\"runtime\":1023,\"deadline\":2000"), "scheduler.runtime", "1024 ns, found 1023", CODE_CONFIG_INVALID },
        { SCHEDULER("\"SCHED_DEADLINE\",\"runtime\":2000"), "scheduler.deadline", "the runtime, found 0", CODE_CONFIG_INVALID },
        { SCHEDULER("\"SCHED_DEADLINE\",\"runtime\":2000,\"deadline\":1999"), "scheduler.deadline", "found 1999", CODE_CONFIG_INVALID },
        { SCHEDULER("\"SCHED_DEADLINE\",\"runtime\":2000,\"deadline\":3000,\"period\":2999"),
          "scheduler.period", "the deadline, or 0, found 2999", CODE_CONFIG_INVALID },
        { SCHEDULER("\"SCHED_DEADLINE\",\"runtime\":2000,\"deadline\":9223372036854775808"),
          "scheduler.deadline", "2^63", CODE_CONFIG_INVALID },
        { SCHEDULER("\"SCHED_DEADLINE\",\"runtime\":2000,\"deadline\":3000,\"period\":18446744073709551615"),
          "scheduler.period", "2^63", CODE_CONFIG_INVALID },
};

static void what_no_kernel_would_take_is_refused_by_its_field(void **state) {
        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(refused); i++) {
                assert_null(process_of(refused[i].json));
                if (!streq(err.where, arena_printf(&arena, "process.%s", refused[i].where)) || !strstr(err.text, refused[i].text))
                        print_error("row %zu: %s: %s\n", i, err.where, err.text);
                assert_string_equal(err.where, arena_printf(&arena, "process.%s", refused[i].where));
                assert_non_null(strstr(err.text, refused[i].text));
                assert_int_equal(err.code, refused[i].code);
        }
}

/* What the decoder lets nobody say, for callers that build the value themselves. */
static void values_that_no_file_can_hold_are_refused_too(void **state) {
        struct oci_scheduler scheduler = { .policy = OCI_SCHEDULER_POLICY_SCHED_OTHER, .nice = 20 };
        struct oci_io_priority io = { .class = OCI_IO_PRIORITY_CLASS_IOPRIO_CLASS_BE, .priority = 8 };
        const char *args[] = { "a" };
        struct oci_process process = { .cwd = "/", .args = args, .n_args = 1, .scheduler = &scheduler };
        struct plan_process *ret;

        (void)state;
        assert_int_equal(compile_process(&arena, &process, "p", &root_host, &ret, &err), -EINVAL);
        assert_string_equal(err.where, "p.scheduler.nice");
        scheduler.nice = -21;
        assert_int_equal(compile_process(&arena, &process, "p", &root_host, &ret, &err), -EINVAL);
        scheduler.nice = 0;
        scheduler.policy = 0;
        assert_int_equal(compile_process(&arena, &process, "p", &root_host, &ret, &err), -EINVAL);
        assert_string_equal(err.where, "p.scheduler.policy");
        process.scheduler = NULL;
        process.io_priority = &io;
        assert_int_equal(compile_process(&arena, &process, "p", &root_host, &ret, &err), -EINVAL);
        assert_string_equal(err.where, "p.ioPriority.priority");
        io.priority = -1;
        assert_int_equal(compile_process(&arena, &process, "p", &root_host, &ret, &err), -EINVAL);
        io.priority = 0;
        io.class = 0;
        assert_int_equal(compile_process(&arena, &process, "p", &root_host, &ret, &err), -EINVAL);
        assert_string_equal(err.where, "p.ioPriority.class");
}

static void an_io_priority_is_the_kernels_word(void **state) {
        static const struct { const char *class; int priority; uint32_t wanted; } rows[] = {
                { "RT", 0, 1 << 13 }, { "RT", 7, 1 << 13 | 7 }, { "BE", 4, 2 << 13 | 4 }, { "IDLE", 0, 3 << 13 },
        };
        const struct plan_process *p;

        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                p = fine(arena_printf(&arena, "\"ioPriority\":{\"class\":\"IOPRIO_CLASS_%s\",\"priority\":%d}", rows[i].class,
                                      rows[i].priority));
                assert_true(p->has & PLAN_PROCESS_HAS_IO_PRIORITY);
                assert_int_equal(p->io_priority, rows[i].wanted);
        }
        assert_int_equal(fine("\"ioPriority\":{\"class\":\"IOPRIO_CLASS_IDLE\"}")->io_priority, 3 << 13);
        assert_false(fine("\"terminal\":false")->has & PLAN_PROCESS_HAS_IO_PRIORITY);
}

static void a_deadline_process_must_be_able_to_fork_its_hooks(void **state) {
        static const char config[] = HEAD "\"process\":{\"cwd\":\"/\",\"args\":[\"a\"],\"scheduler\":{\"policy\":\"SCHED_DEADLINE\","
                "\"runtime\":2000,\"deadline\":3000%s}},\"hooks\":{\"%s\":[{\"path\":\"/h\"}]},"
                "\"linux\":{\"namespaces\":[{\"type\":\"mount\"}]}}";
        static const char reset[] = ",\"flags\":[\"SCHED_FLAG_RESET_ON_FORK\"]";
        struct plan_plan *plan;

        (void)state;
        assert_int_equal(compile_text(arena_printf(&arena, config, "", "startContainer"), &root_host, PLAN_CGROUP_MANAGER_CGROUPFS, &plan),
                         -EINVAL);
        assert_string_equal(err.where, "process.scheduler.flags");
        assert_int_equal(compile_text(arena_printf(&arena, config, reset, "startContainer"), &root_host, PLAN_CGROUP_MANAGER_CGROUPFS,
                                      &plan), 0);
        assert_int_equal(compile_text(arena_printf(&arena, config, "", "createContainer"), &root_host, PLAN_CGROUP_MANAGER_CGROUPFS,
                                      &plan), 0);
}

/* ---- lists of numbers ---- */

static void lists_are_ranges(void **state) {
        static const struct { const char *text; size_t n; struct plan_range ranges[3]; } rows[] = {
                { "0", 1, { { 0, 0 } } },
                { "0-3,7", 2, { { 0, 3 }, { 7, 7 } } },
                { "65535", 1, { { 65535, 65535 } } },
                { "7,7-7,0007", 3, { { 7, 7 }, { 7, 7 }, { 7, 7 } } },
        };
        struct plan_range *ranges;
        size_t n;

        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                assert_int_equal(cpu_list_parse(&arena, rows[i].text, CPU_LIST_MAX, "f", &ranges, &n, &err), 0);
                assert_int_equal(n, rows[i].n);
                assert_memory_equal(ranges, rows[i].ranges, n * sizeof *ranges);
        }
        assert_int_equal(cpu_list_parse(&arena, "", 5, "f", &ranges, &n, &err), 0);
        assert_true(ranges == NULL && n == 0);
        assert_int_equal(cpu_list_parse(&arena, NULL, 5, "f", &ranges, &n, &err), 0);
}

static void a_bad_list_is_an_error_of_its_field(void **state) {
        static const struct { const char *list, *text; } rows[] = {
                { "a", "such as 0-3,7" }, { "-1", "such as" }, { "1-", "such as" }, { "1--2", "such as" }, { "1-2-3", "such as" },
                { ",", "such as" }, { "1,", "such as" }, { ",1", "such as" }, { "1,,2", "such as" }, { " 1", "such as" }, { "1 ", "such as" },
                { "0x1", "such as" }, { "+1", "such as" }, { "1;2", "such as" }, { "3-0", "3-0 of \"3-0\" runs backwards" },
                { "0-65536", "up to 65535" }, { "4294967296", "up to" }, { "18446744073709551617", "up to" },
                { "99999999999999999999999999999999999999-0", "up to" },
        };
        struct plan_range *ranges = NULL;
        size_t n;

        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                assert_int_equal(cpu_list_parse(&arena, rows[i].list, CPU_LIST_MAX, "f", &ranges, &n, &err), -EINVAL);
                if (!strstr(err.text, rows[i].text))
                        print_error("%s: %s\n", rows[i].list, err.text);
                assert_non_null(strstr(err.text, rows[i].text));
                assert_string_equal(err.where, "f");
                assert_int_equal(err.code, CODE_CONFIG_INVALID);
        }
        assert_null(ranges);
}

static void an_affinity_of_exec_is_kept_and_an_empty_one_is_none(void **state) {
        const struct plan_process *p = fine("\"execCPUAffinity\":{\"initial\":\"0-1\",\"final\":\"3,5\"}");

        (void)state;
        assert_int_equal(p->exec_affinity->n_initial, 1);
        assert_int_equal(p->exec_affinity->n_final, 2);
        assert_int_equal(p->exec_affinity->final[1].last, 5);
        assert_null(fine("\"execCPUAffinity\":{\"initial\":\"\",\"final\":\"\"}")->exec_affinity);
        assert_null(fine("\"execCPUAffinity\":{}")->exec_affinity);
        assert_null(process_of("\"execCPUAffinity\":{\"initial\":\"2-1\"}"));
        assert_string_equal(err.where, "process.execCPUAffinity.initial");
        assert_null(process_of("\"execCPUAffinity\":{\"final\":\"70000\"}"));
        assert_string_equal(err.where, "process.execCPUAffinity.final");
}

static void a_personality_is_the_kernels_number_and_has_no_flags(void **state) {
        struct plan_plan *plan;

        (void)state;
        assert_int_equal(compile_text(LINUX("\"personality\":{\"domain\":\"LINUX32\",\"flags\":[]}"), &root_host,
                                      PLAN_CGROUP_MANAGER_CGROUPFS, &plan), 0);
        assert_true(plan->has & PLAN_PLAN_HAS_PERSONALITY && plan->personality == PER_LINUX32);
        assert_int_equal(compile_text(LINUX("\"personality\":{\"domain\":\"LINUX\"}"), &root_host, PLAN_CGROUP_MANAGER_CGROUPFS, &plan), 0);
        assert_true(plan->has & PLAN_PLAN_HAS_PERSONALITY && plan->personality == PER_LINUX);
        assert_int_equal(compile_text(LINUX("\"cgroupsPath\":\"/a\""), &root_host, PLAN_CGROUP_MANAGER_CGROUPFS, &plan), 0);
        assert_false(plan->has & PLAN_PLAN_HAS_PERSONALITY);
        assert_int_equal(compile_text(LINUX("\"personality\":{\"domain\":\"LINUX\",\"flags\":[\"ADDR_NO_RANDOMIZE\"]}"), &root_host,
                                      PLAN_CGROUP_MANAGER_CGROUPFS, &plan), -EINVAL);
        assert_string_equal(err.where, "linux.personality.flags[0]");
        assert_int_equal(err.code, CODE_CONFIG_INVALID);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(every_policy_and_flag_has_the_kernels_number),
                TEST(what_the_kernel_would_not_look_at_is_a_warning),
                TEST(what_no_kernel_would_take_is_refused_by_its_field),
                TEST(values_that_no_file_can_hold_are_refused_too),
                TEST(an_io_priority_is_the_kernels_word),
                TEST(a_deadline_process_must_be_able_to_fork_its_hooks),
                TEST(lists_are_ranges),
                TEST(a_bad_list_is_an_error_of_its_field),
                TEST(an_affinity_of_exec_is_kept_and_an_empty_one_is_none),
                TEST(a_personality_is_the_kernels_number_and_has_no_flags),
        };

        return RUN_TESTS(tests);
}
