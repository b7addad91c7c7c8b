#include "plan/command_policy.h"

#define POLICY "sage.sandbox.process."

/* Sage's own list: what its hosts call a shell. */
static const char *const shells[] = { "sh", "bash", "dash", "zsh", "ksh", "fish" };

/* The default of max_output_bytes (schemas/sage-process.json). */
#define OUTPUT_DEFAULT UINT64_C(1048576)

static bool is_listed(const char *const *list, size_t n, const char *word, size_t length) {
        for (size_t i = 0; i < n; i++)
                if (strlen(list[i]) == length && strncmp(list[i], word, length) == 0)
                        return true;
        return false;
}

static int check_program(const struct sage_process *policy, const char *program, const char *field, struct error *err) {
        const char *slash = strrchr(program, '/'), *name = slash ? slash + 1 : program;

        if (policy->n_allowed_executables &&
                !is_listed(policy->allowed_executables, policy->n_allowed_executables, program, strlen(program)))
                return fail(err, CODE_PERMISSION_DENIED, EACCES, field, "`%s` is not among " POLICY "allowed_executables", program);
        if (policy->has & SAGE_PROCESS_HAS_ALLOW_SHELL && !policy->allow_shell && is_listed(shells, ELEMENTSOF(shells), name, strlen(name)))
                return fail(
                        err, CODE_PERMISSION_DENIED, EACCES, field, "`%s` is a shell, which " POLICY "allow_shell does not allow", program);
        return 0;
}

static size_t name_length(const char *variable) {
        return strcspn(variable, "=");
}

/* The place of the variable that has the name of VARIABLE; N: none. */
static size_t find_variable(const char *const *env, size_t n, const char *variable) {
        size_t at = 0, length = name_length(variable) + 1;

        while (at < n && strncmp(env[at], variable, length) != 0)
                at++;
        return at;
}

static void set_path(struct arena *arena, const char *path, struct plan_process *p) {
        const char **env = arena_array(arena, const char *, p->n_env + 2);
        const char *variable = arena_printf(arena, "PATH=%s", path);
        size_t at = find_variable(p->env, p->n_env, variable);

        for (size_t i = 0; i < p->n_env; i++)
                env[i] = p->env[i];
        env[at] = variable;
        p->n_env += at == p->n_env;
        p->env = env;
}

int command_policy_compile(struct compilation *c) {
        const struct sage_process *policy = c->plan->sage->process;
        struct plan_process *p = c->plan->process;

        if (policy->command_path)
                set_path(c->arena, policy->command_path, p);
        return p->n_args ? check_program(policy, p->args[0], "process.args[0]", c->err) : 0;
}

static int check_variable(const struct sage_process *policy, const struct plan_process *bundles, const char *variable, struct error *err) {
        size_t length = name_length(variable), at = find_variable(bundles->env, bundles->n_env, variable);

        if (!policy->allowed_env_names || is_listed(policy->allowed_env_names, policy->n_allowed_env_names, variable, length) ||
                (at < bundles->n_env && streq(bundles->env[at], variable)))
                return 0;
        return fail(err, CODE_PERMISSION_DENIED, EACCES, "process.env", "`%.*s` is not among " POLICY "allowed_env_names", (int)length,
                variable);
}

int command_policy_exec(struct arena *arena, const struct plan_plan *plan, struct plan_process *process, struct error *err) {
        const struct sage_process *policy = plan->sage->process;
        int r = check_program(policy, process->args[0], "process.args[0]", err);

        for (size_t i = 0; r == 0 && i < process->n_env; i++)
                r = check_variable(policy, plan->process, process->env[i], err);
        /* A process object of its own may say nothing of PATH, and would find programs where nobody has thought of. */
        if (r == 0 && policy->command_path && find_variable(process->env, process->n_env, "PATH=") == process->n_env)
                set_path(arena, policy->command_path, process);
        return r;
}

uint64_t command_policy_time_us(const struct sage_process *policy) {
        if (!(policy->has & SAGE_PROCESS_HAS_MAX_WALL_TIME_SECONDS))
                return 0;
        return policy->max_wall_time_seconds < 1e-6 ? 1 : (uint64_t)(policy->max_wall_time_seconds * 1e6);
}

uint64_t command_policy_output(const struct sage_process *policy) {
        return policy->has & SAGE_PROCESS_HAS_MAX_OUTPUT_BYTES ? policy->max_output_bytes : 0;
}

static int cannot(const char *field, const char *why, struct error *err) {
        return fail(err, CODE_CAPABILITY_UNSUPPORTED, EOPNOTSUPP, field, "%s", why);
}

/* What everybody has who asks for nothing is a limit of what the runtime passes on, and it passes on nothing here. */
int command_policy_uncounted(const struct plan_plan *plan, struct error *err) {
        const struct sage_process *policy = plan->sage->process;

        if (command_policy_output(policy) == 0 || policy->max_output_bytes == OUTPUT_DEFAULT)
                return 0;
        return cannot(POLICY "max_output_bytes", "the runtime does not see this output to count it", err);
}

int command_policy_detached(const struct sage_process *policy, struct error *err) {
        const uint64_t kept = SAGE_PROCESS_HAS_MAX_PROCESSES | SAGE_PROCESS_HAS_MAX_WALL_TIME_SECONDS | SAGE_PROCESS_HAS_MAX_OUTPUT_BYTES |
                SAGE_PROCESS_HAS_ALLOW_BACKGROUND_JOBS;

        return policy->has & kept
                ? cannot("--detach", "a command of a sandbox has no background jobs (" POLICY "allow_background_jobs)", err)
                : 0;
}

int command_policy_unattended(const struct plan_plan *plan, struct error *err) {
        if (plan->process->n_args == 0)
                return 0;
        if (command_policy_time_us(plan->sage->process))
                return cannot(POLICY "max_wall_time_seconds",
                        "nobody stays with the bundle's process to keep this: `run` it, or leave it out and `exec` commands", err);
        return command_policy_uncounted(plan, err);
}
