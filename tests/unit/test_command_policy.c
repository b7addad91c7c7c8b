/* sage.sandbox.process for the bundle's process and for exec: programs, shells, variables, PATH, and limits in the supervisor's units. */
#include "compile.h"

#include "plan/command_policy.h"

#define PLAIN_ENV "\"env\":[\"PATH=/bin\",\"HOME=/tmp\"]"

/* A plan whose process has ARGS, and the policy of JSON with ' for ". */
static struct compilation make(const char *policy, const char *args) {
        static struct plan_plan plan;
        static struct sage_request request;
        struct sage_process *process = arena_new(&arena, struct sage_process);
        struct oci_process *oci = arena_new(&arena, struct oci_process);
        char *text = arena_strdup(&arena, policy);

        for (char *p = text; *p; p++)
                *p = *p == '\'' ? '"' : *p;
        decode(&sage_process_type, text, process);
        decode(&oci_process_type, arena_printf(&arena, "{\"cwd\":\"/\"," PLAIN_ENV ",\"args\":%s}", args), oci);
        request = (struct sage_request){ .process = process };
        plan = (struct plan_plan){ .sage = &request };
        if (compile_process(&arena, oci, "process", &root_host, &plan.process, &err) < 0)
                abort();
        return (struct compilation){ .arena = &arena, .facts = &root_host, .err = &err, .plan = &plan };
}

static void a_program_must_be_allowed_letter_by_letter_and_no_shell(void **state) {
        static const struct {
                const char *policy, *args, *said; /* said NULL: allowed */
        } rows[] = {
                { "{}", "[\"true\"]", NULL },
                { "{}", "[\"/usr/bin/git\"]", NULL },
                { "{}", "[\"sh\"]", NULL }, /* nobody said anything of it */
                { "{'allow_shell':false}", "[\"sh\"]", "allow_shell" },
                { "{'allow_shell':false}", "[\"/x/y/fish\"]", "allow_shell" },
                { "{'allow_shell':false}", "[\"shfmt\"]", NULL },
                { "{'allow_shell':false}", "[\"env\",\"sh\"]", NULL }, /* Sage's rule is about the first word */
                { "{'allow_shell':true}", "[\"bash\"]", NULL },
                { "{'allowed_executables':['git','rg']}", "[\"git\"]", NULL },
                { "{'allowed_executables':['git','rg']}", "[\"/usr/bin/git\"]", "allowed_executables" },
                { "{'allowed_executables':['git','rg']}", "[\"gi\"]", "allowed_executables" },
                { "{'allowed_executables':['git','rg']}", "[\"gitk\"]", "allowed_executables" },
                { "{'allow_shell':false,'allowed_executables':['sh']}", "[\"sh\"]", "allow_shell" },
                { "{'allowed_executables':['git'],'allow_shell':true}", "[\"sh\"]", "allowed_executables" },
        };

        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                struct compilation c = make(rows[i].policy, rows[i].args);
                struct plan_process same = *c.plan->process;

                for (int exec = 0; exec < 2; exec++) {
                        int r = exec ? command_policy_exec(&arena, c.plan, &same, &err) : command_policy_compile(&c);

                        if (r != (rows[i].said ? -EACCES : 0) || (r < 0 && (!strstr(err.text, rows[i].said) || err.code != CODE_PERMISSION_DENIED)))
                                FAIL("row %zu: %d %s", i, r, r < 0 ? err.text : "");
                }
        }
}

static const char *variable(const struct plan_process *p, const char *name) {
        for (size_t i = 0; i < p->n_env; i++) {
                const char *value = str_after(p->env[i], name);

                if (value)
                        return value;
        }
        return NULL;
}

static void command_path_is_the_path_of_everybody(void **state) {
        struct compilation c = make("{'command_path':'/w/bin:/bin'}", "[\"true\"]");
        const char *none[] = { NULL };
        struct plan_process exec;

        (void)state;
        assert_int_equal(command_policy_compile(&c), 0);
        assert_string_equal(variable(c.plan->process, "PATH="), "/w/bin:/bin");
        assert_int_equal(c.plan->process->n_env, 2);
        exec = *c.plan->process;
        exec.env = none;
        exec.n_env = 0;
        assert_int_equal(command_policy_exec(&arena, c.plan, &exec, &err), 0);
        assert_string_equal(variable(&exec, "PATH="), "/w/bin:/bin");
        assert_null(exec.env[exec.n_env]);
}

static void a_command_sets_only_what_it_may(void **state) {
        static const struct {
                const char *policy, *variable;
                bool allowed;
        } rows[] = {
                { "{}", "LD_PRELOAD=x", true },
                { "{'allowed_env_names':[]}", "HOME=/tmp", true },
                { "{'allowed_env_names':[]}", "HOME=/else", false },
                { "{'allowed_env_names':[]}", "LD_PRELOAD=x", false },
                { "{'allowed_env_names':['A']}", "A=1", true },
                { "{'allowed_env_names':['A']}", "AB=1", false },
                { "{'allowed_env_names':['AB']}", "A=1", false },
                { "{'allowed_env_names':['PATH']}", "PATH=/else", true },
                { "{'allowed_env_names':['A']}", "PATH=/else", false },
        };

        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                struct compilation c = make(rows[i].policy, "[\"true\"]");
                struct plan_process exec = *c.plan->process;
                const char *env[] = { rows[i].variable, NULL };

                exec.env = env;
                exec.n_env = 1;
                if ((command_policy_exec(&arena, c.plan, &exec, &err) == 0) != rows[i].allowed)
                        FAIL("row %zu", i);
        }
}

static void what_nobody_would_keep_is_told(void **state) {
        static const struct {
                const char *policy, *args, *field;
        } rows[] = {
                { "{}", "[\"true\"]", NULL },
                { "{'max_output_bytes':1048576}", "[\"true\"]", NULL },
                { "{'max_output_bytes':1048575}", "[\"true\"]", "sage.sandbox.process.max_output_bytes" },
                { "{'max_wall_time_seconds':0.5}", "[\"true\"]", "sage.sandbox.process.max_wall_time_seconds" },
        };
        struct compilation c;

        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                c = make(rows[i].policy, rows[i].args);
                if (command_policy_unattended(c.plan, &err) != (rows[i].field ? -EOPNOTSUPP : 0) || (rows[i].field && !streq(err.where, rows[i].field)))
                        FAIL("row %zu", i);
        }
        c.plan->process->n_args = 0;
        assert_int_equal(command_policy_unattended(c.plan, &err), 0);
        assert_int_equal(command_policy_time_us(c.plan->sage->process), 500000);
        c = make("{'max_wall_time_seconds':1e-9}", "[\"true\"]");
        assert_int_equal(command_policy_time_us(c.plan->sage->process), 1);
        c = make("{}", "[\"true\"]");
        assert_int_equal(command_policy_time_us(c.plan->sage->process), 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(a_program_must_be_allowed_letter_by_letter_and_no_shell),
                TEST(command_path_is_the_path_of_everybody),
                TEST(a_command_sets_only_what_it_may),
                TEST(what_nobody_would_keep_is_told),
        };

        return RUN_TESTS(tests);
}
