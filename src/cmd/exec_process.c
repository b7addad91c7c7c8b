#include "cmd/exec_process.h"

#include <errno.h>

#include "base/str.h"
#include "cmd/bundle.h"
#include "plan/capabilities.h"
#include "plan/compile.h"

/* UID or UID:GID, each a whole number below 2^32 - 1 (which would mean "leave it" to setresuid(2)). A name is refused: the image's
 * passwd could call root by any name (CVE-2016-3697), and "1x" is no 1 (CVE-2026-30892). */
static int parse_user(struct invocation *invocation, const char *text, struct plan_process *process, struct error *err) {
        const char *colon = strchr(text, ':');
        const char *uid_text = colon ? arena_strndup(invocation->arena, text, (size_t)(colon - text)) : text;
        uint64_t uid, gid = process->gid;

        if (str_to_u64(uid_text, UINT32_MAX - 1, &uid) < 0 || (colon && str_to_u64(colon + 1, UINT32_MAX - 1, &gid) < 0))
                return fail(err, CODE_USAGE, EINVAL, "--user", "expected UID or UID:GID as numbers below 4294967295, found `%s`", text);
        process->uid = (uint32_t)uid;
        process->gid = (uint32_t)gid;
        return 0;
}

static int add_groups(struct invocation *invocation, const struct text_list *groups, struct plan_process *process, struct error *err) {
        uint32_t *all = arena_array(invocation->arena, uint32_t, process->n_groups + groups->n + 1);
        uint64_t gid;

        if (process->n_groups)
                memcpy(all, process->groups, process->n_groups * sizeof *all);
        for (size_t i = 0; i < groups->n; i++) {
                if (str_to_u64(groups->items[i], UINT32_MAX - 1, &gid) < 0)
                        return fail(err, CODE_USAGE, EINVAL, "--additional-gids", "expected a number, found `%s`", groups->items[i]);
                all[process->n_groups++] = (uint32_t)gid;
        }
        process->groups = all;
        return 0;
}

/* Adds to what the process may use, never to what its programs may inherit (CVE-2022-29162); but what they may, they do, as with runc: it
 * would be lost to a user other than root with the execve(2) of the command. */
static int add_capabilities(const struct text_list *caps, struct plan_capabilities *sets, struct error *err) {
        for (size_t i = 0; i < caps->n; i++) {
                int number = capability_number(caps->items[i]);
                uint64_t bit;

                if (number < 0)
                        return fail(err, CODE_USAGE, EINVAL, "--cap", "unknown capability `%s`", caps->items[i]);
                bit = 1ull << number;
                sets->bounding |= bit;
                sets->effective |= bit;
                sets->permitted |= bit;
                sets->ambient |= sets->inheritable & bit;
        }
        return 0;
}

/* The length of NAME= in a NAME=VALUE. */
static size_t name_length(const char *variable) {
        return strcspn(variable, "=") + 1;
}

/* Each variable replaces the one of its name, or is added. */
static int add_environment(struct invocation *invocation, const struct text_list *env, struct plan_process *process, struct error *err) {
        const char **all = arena_array(invocation->arena, const char *, process->n_env + env->n + 1);
        size_t n = process->n_env;

        for (size_t i = 0; i < n; i++)
                all[i] = process->env[i];
        for (size_t i = 0; i < env->n; i++) {
                size_t at = 0;

                if (!strchr(env->items[i], '=') || env->items[i][0] == '=')
                        return fail(err, CODE_USAGE, EINVAL, "--env", "expected NAME=VALUE, found `%s`", env->items[i]);
                while (at < n && strncmp(all[at], env->items[i], name_length(env->items[i])) != 0)
                        at++;
                all[at] = env->items[i];
                n += at == n;
                if (str_after(env->items[i], "HOME="))
                        process->add_home = false;
        }
        process->env = all;
        process->n_env = n;
        return 0;
}

static int from_options(struct invocation *invocation, const struct exec_options *o, char **args, const struct plan_plan *plan,
        struct plan_process **ret, struct error *err) {
        struct plan_process *process = arena_new(invocation->arena, struct plan_process);
        struct plan_capabilities *capabilities = arena_new(invocation->arena, struct plan_capabilities);
        int r;

        *process = *plan->process;
        *capabilities = *plan->process->capabilities;
        process->capabilities = capabilities;
        process->args = (const char **)(uintptr_t)args;
        for (process->n_args = 0; args[process->n_args]; process->n_args++)
                ;
        if (process->n_args == 0)
                return fail(err, CODE_USAGE, EINVAL, "", "usage: sage-runtime exec [options] ID COMMAND…");
        process->terminal = o->tty;
        process->cwd = o->cwd ? o->cwd : process->cwd;
        process->selinux_label = o->selinux ? o->selinux : process->selinux_label;
        process->apparmor_profile = o->apparmor ? o->apparmor : process->apparmor_profile;
        process->no_new_privileges |= o->no_new_privileges;
        if (process->cwd[0] != '/')
                return fail(err, CODE_USAGE, EINVAL, "--cwd", "expected an absolute path, found `%s`", process->cwd);
        if (o->user && (r = parse_user(invocation, o->user, process, err)) < 0)
                return r;
        if ((r = add_groups(invocation, &o->groups, process, err)) < 0 || (r = add_capabilities(&o->caps, capabilities, err)) < 0)
                return r;
        *ret = process;
        return add_environment(invocation, &o->env, process, err);
}

/* The file of --process has the whole process object: what another option says of it would be left out silently. --tty is not among them:
 * people add it by habit (runc and crun take it there), and all that it can mean is done. */
static int refuse_beside_file(const struct exec_options *o, char **args, struct error *err) {
        const struct {
                bool given;
                const char *option;
        } others[] = {
                { o->cwd, "--cwd" },
                { o->user, "--user" },
                { o->groups.n, "--additional-gids" },
                { o->env.n, "--env" },
                { o->caps.n, "--cap" },
                { o->no_new_privileges, "--no-new-privs" },
                { o->selinux, "--process-label" },
                { o->apparmor, "--apparmor" },
                { args[0], "COMMAND" },
        };

        for (size_t i = 0; i < ELEMENTSOF(others); i++)
                if (others[i].given)
                        return fail(
                                err, CODE_USAGE, EINVAL, others[i].option, "not beside --process: its file has the whole process object");
        return 0;
}

int exec_process(struct invocation *invocation, const struct exec_options *options, char **args, const struct plan_plan *plan,
        struct plan_process **ret, struct error *err) {
        struct host host = { .arena = invocation->arena };
        struct oci_process *process;
        int r;

        if ((options->process && (r = refuse_beside_file(options, args, err)) < 0) ||
                (r = facts_need(&host, FACTS_IDENTITY | FACTS_KERNEL, err)) < 0)
                return r;
        if (!options->process) {
                r = from_options(invocation, options, args, plan, ret, err);
                return r < 0 ? r : compile_process_within(invocation->arena, plan, "process", &host.facts, *ret, err);
        }
        process = arena_new(invocation->arena, struct oci_process);
        if ((r = bundle_decode(invocation, options->process, &oci_process_type, process, err)) < 0)
                return r;
        process->terminal |= options->tty;
        if ((r = compile_process(invocation->arena, process, "process", &host.facts, ret, err)) < 0)
                return r;
        return compile_process_within(invocation->arena, plan, "process", &host.facts, *ret, err);
}
