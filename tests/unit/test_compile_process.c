/* The process part: capabilities, environment, limits, and what a container around it allows. */
#include "compile.h"

#include "plan/capabilities.h"
#include "plan/environment.h"

#include <errno.h>
#include <linux/sched.h>

#define BIT(n) (UINT64_C(1) << (n))

static struct plan_process *process_of(const char *members, const struct facts_facts *facts) {
        struct oci_process *process = arena_new(&arena, struct oci_process);
        struct plan_process *ret = NULL;

        decode(&oci_process_type, arena_printf(&arena, "{\"cwd\":\"/\",\"args\":[\"sh\"]%s}", members), process);
        if (compile_process(&arena, process, "process", facts, &ret, &err) < 0) {
                print_error("%s: %s\n", err.where, err.text);
                abort();
        }
        return ret;
}

static void every_capability_has_one_name_and_one_number(void **state) {
        (void)state;
        for (unsigned i = 0; i < CAPABILITY_COUNT; i++) {
                const char *name = capability_name(i);

                assert_non_null(name);
                if (capability_number(name) != (int)i)
                        print_error("%s\n", name);
                assert_int_equal(capability_number(name), i);
        }
        assert_null(capability_name(CAPABILITY_COUNT));
        assert_int_equal(capability_number("CAP_KILL"), 5);
        assert_int_equal(capability_number("cap_kill"), 5);
        assert_int_equal(capability_number("KILL"), -1);
        assert_int_equal(capability_number("CAP_KILLS"), -1);
        assert_int_equal(capability_number(""), -1);
        assert_true(capability_all(40) == BIT(41) - 1);
        assert_true(capability_all(63) == UINT64_MAX);
}

static void no_capabilities_asked_for_is_none_given(void **state) {
        const struct plan_capabilities *sets = process_of("", &root_host)->capabilities;

        (void)state;
        assert_true((sets->bounding | sets->effective | sets->inheritable | sets->permitted | sets->ambient) == 0);
}

static void what_the_kernel_does_not_know_is_a_warning(void **state) {
        struct facts_kernel old = kernel_facts;
        struct facts_facts host = root_host;
        struct plan_process *p;

        (void)state;
        old.last_capability = 37;
        host.kernel = &old;
        p = process_of(",\"capabilities\":{\"bounding\":[\"CAP_KILL\",\"CAP_BPF\",\"CAP_X\"]}", &host);
        assert_true(p->capabilities->bounding == BIT(5));
        assert_int_equal(p->n_warnings, 2);
        assert_string_equal(p->warnings[0], "process.capabilities.bounding: this kernel does not have CAP_BPF");
        assert_string_equal(p->warnings[1], "process.capabilities.bounding: \"CAP_X\" is no capability that this runtime knows");
        /* exec knows who it is, not always the kernel. */
        host.kernel = NULL;
        assert_true(process_of(",\"capabilities\":{\"bounding\":[\"CAP_BPF\"]}", &host)->capabilities->bounding == BIT(39));
}

static void what_the_kernel_would_refuse_is_left_out_with_a_warning(void **state) {
        struct plan_process *p = process_of(",\"capabilities\":{\"bounding\":[\"CAP_KILL\"],\"permitted\":[\"CAP_KILL\",\"CAP_CHOWN\"],"
                                            "\"effective\":[\"CAP_KILL\",\"CAP_FOWNER\"],\"inheritable\":[\"CAP_KILL\",\"CAP_CHOWN\"],"
                                            "\"ambient\":[\"CAP_KILL\",\"CAP_CHOWN\"]}", &root_host);

        (void)state;
        assert_true(p->capabilities->permitted == (BIT(5) | BIT(0)));
        assert_true(p->capabilities->effective == BIT(5));
        assert_true(p->capabilities->inheritable == BIT(5));
        assert_true(p->capabilities->ambient == BIT(5));
        assert_int_equal(p->n_warnings, 3);
        assert_string_equal(p->warnings[0], "process.capabilities.effective: CAP_FOWNER cannot be given, because it is not permitted");
}

static void the_runtime_cannot_give_what_it_does_not_have(void **state) {
        static const char config[] = "{\"ociVersion\":\"1.0.0\",\"root\":{\"path\":\"r\"},\"process\":{\"cwd\":\"/\",\"args\":[\"a\"],"
                                     "\"capabilities\":{"
                "\"bounding\":[\"CAP_SYS_RESOURCE\"],\"permitted\":[\"CAP_SYS_RESOURCE\"],\"effective\":[\"CAP_SYS_RESOURCE\"],"
                "\"inheritable\":[\"CAP_SYS_RESOURCE\"],\"ambient\":[\"CAP_SYS_RESOURCE\"]}},"
                "\"linux\":{\"namespaces\":[{\"type\":\"mount\"}%s]%s}}";
        static const char maps[] = ",\"uidMappings\":[{\"containerID\":0,\"hostID\":9,\"size\":9}],\"gidMappings\":[{\"containerID\":0,"
                                   "\"hostID\":9,\"size\":9}]";
        struct facts_identity weak = root_identity;
        struct facts_facts host = root_host;
        const struct plan_capabilities *sets;
        struct plan_plan *plan;

        (void)state;
        weak.capabilities &= ~BIT(24);
        host.identity = &weak;
        assert_int_equal(compile_text(arena_printf(&arena, config, "", ""), &host, PLAN_CGROUP_MANAGER_CGROUPFS, &plan), 0);
        assert_true(plan->process->capabilities->bounding == BIT(24)); /* not to drop it is no gift */
        sets = plan->process->capabilities;
        assert_true((sets->permitted | sets->effective | sets->inheritable | sets->ambient) == 0);
        assert_int_equal(plan->process->n_warnings, 1);
        /* In a user namespace of its own a process has all of them. */
        assert_int_equal(compile_text(arena_printf(&arena, config, ",{\"type\":\"user\"}", maps), &host, PLAN_CGROUP_MANAGER_CGROUPFS,
                                      &plan), 0);
        assert_true(plan->process->capabilities->ambient == BIT(24));
        assert_int_equal(plan->process->n_warnings, 0);
}

static void of_two_variables_with_one_name_the_later_counts(void **state) {
        const struct plan_process *p = process_of(",\"env\":[\"A=1\",\"AB=2\",\"A=3\",\"HOMER=x\",\"AB=4\",\"A=5\"]", &root_host);

        (void)state;
        assert_int_equal(p->n_env, 3);
        assert_string_equal(p->env[0], "HOMER=x");
        assert_string_equal(p->env[1], "AB=4");
        assert_string_equal(p->env[2], "A=5");
        assert_null(p->env[3]);
        assert_true(p->add_home);
        assert_true(process_of(",\"env\":[\"HOME=\"]", &root_host)->add_home);
        assert_int_equal(process_of("", &root_host)->n_env, 0);
}

static void many_variables_take_no_longer_each(void **state) {
        enum { MANY = 200000 };
        const char **env = arena_array(&arena, const char *, MANY), **kept;
        size_t n;
        bool home;

        (void)state;
        for (size_t i = 0; i < MANY; i++)
                env[i] = arena_printf(&arena, "A%zu=1", i / 2);
        assert_int_equal(environment_compile(&arena, env, MANY, "process", &kept, &n, &home, &err), 0);
        assert_int_equal(n, MANY / 2);
}

static void what_execve_cannot_take_is_named(void **state) {
        char *big = arena_alloc(&arena, 128 * 1024 + 1);
        const char *env[] = { "A=1", big }, *args[] = { "sh", big };
        struct oci_process process = { .cwd = "/", .args = args, .n_args = 1, .env = env, .n_env = 2 };
        struct plan_process *ret;

        (void)state;
        memset(big, 'x', 128 * 1024);
        big[1] = '=';
        assert_int_equal(compile_process(&arena, &process, "p", &root_host, &ret, &err), -E2BIG);
        assert_string_equal(err.where, "p.env[1]");
        process.n_args = 2;
        assert_int_equal(compile_process(&arena, &process, "p", &root_host, &ret, &err), -E2BIG);
        assert_string_equal(err.where, "p.args[1]");
        big[128 * 1024 - 1] = '\0'; /* MAX_ARG_STRLEN counts the NUL */
        assert_int_equal(compile_process(&arena, &process, "p", &root_host, &ret, &err), 0);
        env[0] = "A";
        assert_int_equal(compile_process(&arena, &process, "p", &root_host, &ret, &err), -EINVAL);
        assert_string_equal(err.where, "p.env[0]");
        env[0] = "=A";
        assert_int_equal(compile_process(&arena, &process, "p", &root_host, &ret, &err), -EINVAL);
}

static void absent_is_what_runc_and_crun_do(void **state) {
        const struct plan_process *p = process_of("", &root_host);

        (void)state;
        assert_int_equal(p->umask, 0022);
        assert_int_equal(p->uid + p->gid, 0);
        assert_false(p->no_new_privileges || p->terminal);
        assert_false(p->has & PLAN_PROCESS_HAS_OOM_SCORE_ADJ); /* "MUST NOT change the value" */
        assert_int_equal(process_of(",\"user\":{\"uid\":1,\"gid\":2,\"umask\":0}", &root_host)->umask, 0);
        assert_true(process_of(",\"oomScoreAdj\":0", &root_host)->has & PLAN_PROCESS_HAS_OOM_SCORE_ADJ);
}

static void the_size_of_a_console_needs_a_terminal(void **state) {
        (void)state;
        assert_int_equal(process_of(",\"consoleSize\":{\"height\":5,\"width\":7}", &root_host)->console_width, 0);
        assert_int_equal(process_of(",\"terminal\":true,\"consoleSize\":{\"height\":5,\"width\":7}", &root_host)->console_width, 7);
        assert_int_equal(process_of(",\"terminal\":true,\"consoleSize\":{\"height\":5,\"width\":7}", &root_host)->console_height, 5);
}

static void empty_labels_are_none(void **state) {
        const struct plan_process *p = process_of(",\"apparmorProfile\":\"\",\"selinuxLabel\":\"\"", &root_host);

        (void)state;
        assert_null(p->apparmor_profile);
        assert_null(p->selinux_label);
}

static void the_callers_groups_take_the_place_of_given_ones(void **state) {
        struct plan_plan *plan;

        (void)state;
        assert_int_equal(compile_text("{\"ociVersion\":\"1.0.0\",\"root\":{\"path\":\"r\"},"
                                      "\"annotations\":{\"run.oci.keep_original_groups\":\"1\"},"
                                      "\"process\":{\"cwd\":\"/\",\"args\":[\"a\"],\"user\":{\"uid\":0,\"gid\":0,\"additionalGids\":[5]}},"
                                      "\"linux\":{\"namespaces\":[{\"type\":\"mount\"}]}}", &root_host, PLAN_CGROUP_MANAGER_CGROUPFS,
                                              &plan), 0);
        assert_true(plan->process->keep_groups);
        assert_int_equal(plan->process->n_groups, 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(every_capability_has_one_name_and_one_number),
                TEST(no_capabilities_asked_for_is_none_given),
                TEST(what_the_kernel_does_not_know_is_a_warning),
                TEST(what_the_kernel_would_refuse_is_left_out_with_a_warning),
                TEST(the_runtime_cannot_give_what_it_does_not_have),
                TEST(of_two_variables_with_one_name_the_later_counts),
                TEST(many_variables_take_no_longer_each),
                TEST(what_execve_cannot_take_is_named),
                TEST(absent_is_what_runc_and_crun_do),
                TEST(the_size_of_a_console_needs_a_terminal),
                TEST(empty_labels_are_none),
                TEST(the_callers_groups_take_the_place_of_given_ones),
        };

        return RUN_TESTS(tests);
}
