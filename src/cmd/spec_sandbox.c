#include "cmd/spec_sandbox.h"

#include <errno.h>
#include <stdio.h>

#include "base/str.h"
#include "cmd/sandbox_request.h"

/* Directories of programs that a strict sandbox has from the host. */
#define SEARCH_PATH "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
/* Where the broker listens in the sandbox. */
#define PROXY_HOST "127.0.0.1"
#define PROXY_PORT "3128"
#define PROXY_URL "http://" PROXY_HOST ":" PROXY_PORT

static const char *const terminal_words[] = { "auto", "true", "false" };

/* ---- environment -------------------------------------------------------------------------------------------------------- */

/* Clients that look at one of these do not look at another. An empty NO_PROXY also overrules what a program has built in; Node reads the
 * variables when told so, and Java (which says on standard error that it was told) never. */
static const char *const proxy_variables[] = {
        "HTTP_PROXY=" PROXY_URL,
        "HTTPS_PROXY=" PROXY_URL,
        "ALL_PROXY=" PROXY_URL,
        "NO_PROXY=",
        "http_proxy=" PROXY_URL,
        "https_proxy=" PROXY_URL,
        "all_proxy=" PROXY_URL,
        "no_proxy=",
        "NODE_USE_ENV_PROXY=1",
        "JAVA_TOOL_OPTIONS=-Dhttp.proxyHost=" PROXY_HOST " -Dhttp.proxyPort=" PROXY_PORT " -Dhttps.proxyHost=" PROXY_HOST
        " -Dhttps.proxyPort=" PROXY_PORT " -Dhttp.nonProxyHosts=",
};

/* Of two with the same name the later one counts, in the place of the first. */
static void put(const char **env, size_t *n, const char *variable) {
        size_t name = strcspn(variable, "=") + 1, i = 0;

        while (i < *n && strncmp(env[i], variable, name) != 0)
                i++;
        env[i] = variable;
        *n += i == *n;
}

static void put_all(const char **env, size_t *n, const char *const *variables, size_t n_variables) {
        for (size_t i = 0; i < n_variables; i++)
                put(env, n, variables[i]);
}

static bool has_broker(const struct sage_network *network) {
        return network->mode == SAGE_NETWORK_MODE_ALLOWLIST || network->mode == SAGE_NETWORK_MODE_PROXY;
}

static void fill_environment(
        struct arena *arena, const struct sandbox_found *found, const struct sage_request *request, struct oci_process *process) {
        const char *path = request->process->command_path ?: SEARCH_PATH;
        const char *const base[] = {
                arena_printf(arena, "PATH=%s", path),
                "HOME=/tmp",
                "TMPDIR=/tmp",
                "USER=sage",
                "LANG=C.UTF-8",
                arena_printf(arena, "TERM=%s", found->terminal && found->term ? found->term : "dumb"),
        };
        size_t room = ELEMENTSOF(base) + ELEMENTSOF(proxy_variables) + found->cache_env.n + found->env.n;
        const char **env = arena_array(arena, const char *, room + 1);

        put_all(env, &process->n_env, base, ELEMENTSOF(base));
        if (has_broker(request->network))
                put_all(env, &process->n_env, proxy_variables, ELEMENTSOF(proxy_variables));
        put_all(env, &process->n_env, (const char *const *)found->cache_env.items, found->cache_env.n);
        put_all(env, &process->n_env, (const char *const *)found->env.items, found->env.n);
        process->env = env;
}

/* ---- the bundle --------------------------------------------------------------------------------------------------------- */

static int check_options(const struct sandbox_options *o, const struct sandbox_found *found, char *const *command, struct error *err) {
        bool known = !o->tty;
        int r = 0;

        for (size_t i = 0; i < ELEMENTSOF(terminal_words); i++)
                known |= o->tty && streq(o->tty, terminal_words[i]);
        if (!known)
                r = fail(err, CODE_USAGE, EINVAL, "--tty", "expected auto, true or false, found `%s`", o->tty);
        else if (o->tty && streq(o->tty, "true") && !*command)
                r = fail(err, CODE_USAGE, EINVAL, "--tty", "there is no command that could have a terminal");
        for (size_t i = 0; r == 0 && o->command_path && i < found->env.n; i++)
                if (str_after(found->env.items[i], "PATH="))
                        r = fail(err, CODE_USAGE, EINVAL, "--command-path", "an --env PATH says something else: leave one of them out");
        return r;
}

/* Half of what hard limits take is an error whoever says it (plan/sage_host.c); here it has the options' names. */
static int check_host(const struct sandbox_options *o, const struct sandbox_found *found, struct error *err) {
        const struct sage_host *policy = found->policy ? found->policy->host : NULL;
        const struct sage_host_policy *host = found->sources.host;
        bool cgroup = o->cgroup_root || (policy && policy->linux_cgroup_root) || (host && host->linux_cgroup_root);
        bool quota = o->quota_mount || (policy && policy->linux_quota_mount) || (host && host->linux_quota_mount);

        if (cgroup == quota || !(o->cgroup_root || o->quota_mount))
                return 0;
        return fail(err, CODE_CONFIG_INVALID, EINVAL, cgroup ? "--cgroup-root" : "--quota-mount", "%s is missing: the two go together",
                cgroup ? "--quota-mount" : "--cgroup-root");
}

static int judge(struct arena *arena, const struct sage_request *request, const struct sage_sources *sources, struct oci_config *config,
        struct sage_asked *ret, struct error *err) {
        int r = sandbox_request_annotate(arena, request, config, err);

        if (r == 0)
                r = sage_compile(arena, config, sources, ret, err);
        return r < 0 ? sandbox_request_name(r, err) : 0;
}

/* Options only make a policy tighter, as annotations would. */
static int check_policy(struct arena *arena, const struct sandbox_found *found, const struct sage_request *said, struct error *err) {
        const struct sage_sources sources = { .command_line = found->policy, .command_line_path = found->policy_path };
        struct oci_config config = { .oci_version = "1.3.0" };
        struct sage_asked asked;

        return found->policy ? judge(arena, said, &sources, &config, &asked, err) : 0;
}

/* Virtual environments and build caches hold absolute paths, so the workspace is best where it is outside; nobody knows a fresh one yet. Some places are the sandbox's own:
 * then it is where it is when nobody says. */
static int place_workspace(struct arena *arena, const struct sandbox_found *found, struct sage_request *request, struct oci_config *config,
        struct sage_asked *ret, struct error *err) {
        const struct sage_request *above = found->sources.command_line;
        bool said = request->filesystem->workspace_root || (above && above->filesystem && above->filesystem->workspace_root);
        struct error ignored;

        if (!said && !found->fresh) {
                request->filesystem->workspace_root = found->workspace;
                if (judge(arena, request, &found->sources, config, ret, &ignored) == 0)
                        return 0;
                request->filesystem->workspace_root = NULL;
        }
        return judge(arena, request, &found->sources, config, ret, err);
}

/* Without a command it is what those have that are executed in the sandbox. */
static struct oci_process *make_process(
        struct arena *arena, const struct sandbox_found *found, const struct sage_request *request, char *const *command) {
        struct oci_process *process = arena_new(arena, struct oci_process);

        process->user = arena_new(arena, struct oci_user);
        *process->user = (struct oci_user){ .has = OCI_USER_HAS_UID | OCI_USER_HAS_GID, .uid = found->uid, .gid = found->gid };
        process->has = OCI_PROCESS_HAS_TERMINAL;
        process->terminal = found->terminal;
        process->cwd = request->filesystem->workspace_root;
        fill_environment(arena, found, request, process);
        while (command[process->n_args])
                process->n_args++;
        if (process->n_args == 0)
                return process;
        process->args = arena_array(arena, const char *, process->n_args + 1);
        memcpy(process->args, command, process->n_args * sizeof *command);
        return process;
}

int spec_sandbox(struct arena *arena, const struct sandbox_options *o, const struct sandbox_found *found, char *const *command,
        struct oci_config **ret, struct error *err) {
        struct oci_config *config = arena_new(arena, struct oci_config);
        struct sage_request said, request;
        struct sage_asked asked;
        int r;

        config->oci_version = "1.3.0";
        if ((r = check_options(o, found, command, err)) < 0 || (r = check_host(o, found, err)) < 0 ||
                (r = sandbox_request_said(arena, o, found, &said, err)) < 0 || (r = check_policy(arena, found, &said, err)) < 0)
                return r;
        sandbox_request_fill(arena, found, &said, &request);
        if ((r = place_workspace(arena, found, &request, config, &asked, err)) < 0)
                return r;
        config->root = arena_new(arena, struct oci_root);
        *config->root = (struct oci_root){ .has = OCI_ROOT_HAS_READONLY, .path = "rootfs", .readonly = true };
        config->process = make_process(arena, found, asked.request, command);
        *ret = config;
        return 0;
}
