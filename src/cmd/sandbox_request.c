#include "cmd/sandbox_request.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/str.h"
#include "cmd/duration.h"
#include "plan/sage_draft.h"

#define TIME_MAX_S UINT64_C(1000000000) /* as the schemas have it */

enum kind {
        TEXT,  /* the option's value is the member's, as plain text */
        TIME,  /* the same for seconds, which may have units */
        OTHER, /* the member comes about below */
};

/* The first of an option's rows is the member that it is about; the others are there for errors. */
static const struct setting {
        const char *option, *member;
        size_t offset;
        uint8_t group, kind;
} settings[] = {
        { "--workspace", "workspace", 0, SAGE_FILESYSTEM, OTHER },
        { "--workspace", "workspace_st_dev", 0, SAGE_FILESYSTEM, OTHER },
        { "--workspace", "workspace_st_ino", 0, SAGE_FILESYSTEM, OTHER },
        { "--workspace-root", "workspace_root", offsetof(struct sandbox_options, workspace_root), SAGE_FILESYSTEM, TEXT },
        { "--read-path", "read_paths", 0, SAGE_FILESYSTEM, OTHER },
        { "--write-path", "write_paths", 0, SAGE_FILESYSTEM, OTHER },
        { "--protected-path", "protected_paths", 0, SAGE_FILESYSTEM, OTHER },
        { "--read-only", "read_only", 0, SAGE_FILESYSTEM, OTHER },
        { "--command-path", "command_path", offsetof(struct sandbox_options, command_path), SAGE_PROCESS, TEXT },
        { "--env", "allowed_env_names", 0, SAGE_PROCESS, OTHER },
        { "--cpu-percent", "cpu_percent", offsetof(struct sandbox_options, cpu_percent), SAGE_RESOURCES, TEXT },
        { "--memory-mb", "memory_mb", offsetof(struct sandbox_options, memory_mb), SAGE_RESOURCES, TEXT },
        { "--disk-mb", "disk_mb", offsetof(struct sandbox_options, disk_mb), SAGE_RESOURCES, TEXT },
        { "--max-processes", "max_processes", offsetof(struct sandbox_options, max_processes), SAGE_RESOURCES, TEXT },
        { "--require-hard-limits", "require_hard_limits", offsetof(struct sandbox_options, require_hard_limits), SAGE_RESOURCES, TEXT },
        { "--cgroup-root", "linux_cgroup_root", offsetof(struct sandbox_options, cgroup_root), SAGE_HOST, TEXT },
        { "--quota-mount", "linux_quota_mount", offsetof(struct sandbox_options, quota_mount), SAGE_HOST, TEXT },
        { "--uid", "linux_execution_uid", 0, SAGE_HOST, OTHER },
        { "--gid", "linux_execution_gid", 0, SAGE_HOST, OTHER },
        { "--network-mode", "mode", offsetof(struct sandbox_options, network_mode), SAGE_NETWORK, TEXT },
        { "--network-host", "allowed_hosts", 0, SAGE_NETWORK, OTHER },
        { "--network-port", "allowed_ports", 0, SAGE_NETWORK, OTHER },
        { "--network-proxy", "proxy_url", offsetof(struct sandbox_options, network_proxy), SAGE_NETWORK, TEXT },
        { "--network-allow-private", "deny_private_networks", 0, SAGE_NETWORK, OTHER },
        { "--network-max-download", "max_response_bytes", offsetof(struct sandbox_options, network_max_download), SAGE_NETWORK, TEXT },
        { "--network-max-upload", "max_request_body_bytes", offsetof(struct sandbox_options, network_max_upload), SAGE_NETWORK, TEXT },
        { "--network-timeout", "max_wall_time_seconds", offsetof(struct sandbox_options, network_timeout), SAGE_NETWORK, TIME },
        { "--timeout", "max_wall_time_seconds", offsetof(struct sandbox_options, timeout), SAGE_PROCESS, TIME },
        { "--max-output-bytes", "max_output_bytes", offsetof(struct sandbox_options, max_output_bytes), SAGE_PROCESS, TEXT },
};

/* ---- errors ------------------------------------------------------------------------------------------------------------ */

static const char *option_of(enum sage_group group, const char *member) {
        size_t n = strcspn(member, "[.");

        for (size_t i = 0; i < ELEMENTSOF(settings); i++)
                if (settings[i].group == group && strlen(settings[i].member) == n && strncmp(settings[i].member, member, n) == 0)
                        return settings[i].option;
        return NULL;
}

/* The places of a request's errors (sage_field() in plan/sage_draft.c): in an annotation that is an object, or in what is there by default. */
const char *spec_sandbox_option(const char *where) {
        const char *object = str_after(where, "annotations[\"sage.sandbox."), *rest = object ?: str_after(where, "sage.sandbox.");

        for (unsigned g = 0; rest && g < SAGE_GROUPS; g++) {
                const char *behind = str_after(rest, sage_groups[g].name),
                           *member = behind ? str_after(behind, object ? "\"]." : ".") : NULL;

                if (member)
                        return option_of(g, member);
        }
        return NULL;
}

static int about(const char *option, int r, struct error *err) {
        snprintf(err->where, sizeof err->where, "%s", option);
        err->line = 0;
        return r;
}

int sandbox_request_name(int r, struct error *err) {
        const char *option = spec_sandbox_option(err->where);

        return option ? about(option, r, err) : r;
}

/* ---- what was said ------------------------------------------------------------------------------------------------------ */

/* "1m30s" as "90.000000"; what is no time stays as it is, for whoever says so. */
static const char *in_seconds(struct arena *arena, const char *text) {
        uint64_t us;

        if (duration_parse(text, TIME_MAX_S, &us) < 0)
                return text;
        return arena_printf(arena, "%" PRIu64 ".%06" PRIu64, us / 1000000, us % 1000000);
}

static int take_texts(struct arena *arena, const struct sandbox_options *o, struct sage_request *said, struct error *err) {
        for (size_t i = 0; i < ELEMENTSOF(settings); i++) {
                const struct setting *s = &settings[i];
                const char *text = s->kind == OTHER ? NULL : *(const char *const *)((const char *)o + s->offset);
                const struct spec_type *type = sage_groups[s->group].type;
                unsigned member = (unsigned)spec_member_find(type, s->member, strlen(s->member));
                union sage_value value;
                int r;

                if (!text)
                        continue;
                if (s->kind == TIME)
                        text = in_seconds(arena, text);
                if ((r = spec_member_decode(arena, type, member, text, &value, err)) < 0) {
                        err->code = (uint16_t)sage_code(s->group, s->member);
                        return about(s->option, r, err);
                }
                spec_member_take(type, member, sage_group_make(arena, said, s->group), &value);
        }
        return 0;
}

static int take_ports(struct arena *arena, const struct text_list *ports, struct sage_network *network, struct error *err) {
        network->allowed_ports = arena_array(arena, uint16_t, ports->n);
        for (size_t i = 0; i < ports->n; i++) {
                uint64_t port;

                if (str_to_u64(ports->items[i], UINT16_MAX, &port) < 0 || port == 0)
                        return fail(err, CODE_NETWORK_POLICY_INVALID, EINVAL, "--network-port",
                                "expected a port from 1 to 65535, found `%s`", ports->items[i]);
                network->allowed_ports[network->n_allowed_ports++] = (uint16_t)port;
        }
        return 0;
}

static bool has_mode(const struct sage_request *request) {
        return request && request->network && request->network->has & SAGE_NETWORK_HAS_MODE;
}

/* A proxy is for mode proxy, a host for the one that a policy says, or allowlist. */
static void imply_mode(const struct sandbox_found *found, struct sage_network *network) {
        bool said = has_mode(found->policy) || has_mode(found->sources.command_line);

        if (network->has & SAGE_NETWORK_HAS_MODE || !(network->proxy_url || (network->n_allowed_hosts && !said)))
                return;
        network->mode = network->proxy_url ? SAGE_NETWORK_MODE_PROXY : SAGE_NETWORK_MODE_ALLOWLIST;
        network->has |= SAGE_NETWORK_HAS_MODE;
}

/* What would have no effect is refused; for the members that only some modes have, policy.c of the broker does that. */
static int check_use(
        const struct sandbox_options *o, const struct sandbox_found *found, const struct sage_network *network, struct error *err) {
        const struct {
                const char *option;
                bool given;
        } idle[] = {
                { "--network-allow-private", o->network_allow_private },
                { "--network-max-download", o->network_max_download },
                { "--network-max-upload", o->network_max_upload },
                { "--network-timeout", o->network_timeout },
                { "--network-port", o->network_ports.n },
        };
        bool said = has_mode(found->policy) || has_mode(found->sources.command_line);

        if (network->has & SAGE_NETWORK_HAS_MODE ? network->mode != SAGE_NETWORK_MODE_NONE : said)
                return 0;
        for (size_t i = 0; i < ELEMENTSOF(idle); i++)
                if (idle[i].given)
                        return fail(err, CODE_NETWORK_POLICY_INVALID, EINVAL, idle[i].option,
                                "the sandbox has no network: name what it may reach with --network-host or --network-proxy");
        return 0;
}

static int take_network(struct arena *arena, const struct sandbox_options *o, const struct sandbox_found *found, struct sage_request *said,
        struct error *err) {
        struct sage_network *network;
        int r;

        if (!said->network && !o->network_hosts.n && !o->network_ports.n && !o->network_allow_private)
                return 0;
        network = sage_group_make(arena, said, SAGE_NETWORK);
        if (o->network_hosts.n) {
                network->allowed_hosts = o->network_hosts.items;
                network->n_allowed_hosts = o->network_hosts.n;
        }
        if (o->network_ports.n && (r = take_ports(arena, &o->network_ports, network, err)) < 0)
                return r;
        if (o->network_allow_private)
                network->has |= SAGE_NETWORK_HAS_DENY_PRIVATE_NETWORKS;
        imply_mode(found, network);
        return check_use(o, found, network, err);
}

static void take_filesystem(
        struct arena *arena, const struct sandbox_options *o, const struct sandbox_found *found, struct sage_filesystem *f) {
        size_t n = o->write_paths.n + found->caches.n;

        f->workspace = found->workspace;
        if (found->workspace_ino) {
                f->workspace_st_dev = found->workspace_dev;
                f->workspace_st_ino = found->workspace_ino;
                f->has |= SAGE_FILESYSTEM_HAS_WORKSPACE_ST_DEV | SAGE_FILESYSTEM_HAS_WORKSPACE_ST_INO;
        }
        if (o->read_only) {
                f->read_only = true;
                f->has |= SAGE_FILESYSTEM_HAS_READ_ONLY;
        }
        f->read_paths = o->read_paths.items;
        f->n_read_paths = o->read_paths.n;
        f->protected_paths = o->protected_paths.items;
        f->n_protected_paths = o->protected_paths.n;
        if (n == 0)
                return;
        f->write_paths = arena_array(arena, const char *, n + 1);
        for (size_t i = 0; i < n; i++)
                f->write_paths[i] = i < o->write_paths.n ? o->write_paths.items[i] : found->caches.items[i - o->write_paths.n];
        f->n_write_paths = n;
}

/* Whoever names a variable wants it in the sandbox; each once. */
static void take_names(struct arena *arena, const struct text_list *env, struct sage_request *said) {
        struct sage_process *process;

        if (!env->n)
                return;
        process = sage_group_make(arena, said, SAGE_PROCESS);
        process->allowed_env_names = arena_array(arena, const char *, env->n + 1);
        for (size_t i = 0; i < env->n; i++) {
                const char *name = arena_strndup(arena, env->items[i], strcspn(env->items[i], "="));
                size_t k = 0;

                while (k < process->n_allowed_env_names && !streq(process->allowed_env_names[k], name))
                        k++;
                if (k == process->n_allowed_env_names)
                        process->allowed_env_names[process->n_allowed_env_names++] = name;
        }
}

/* As whoever reads the annotations will: here the error is one about an option. */
static int check_values(struct arena *arena, const struct sage_request *said, struct error *err) {
        for (unsigned g = 0; g < SAGE_GROUPS; g++) {
                _cleanup_str_ struct str text = { 0 };
                const void *value = sage_group(said, g);
                union sage_value decoded;
                const char *option;
                int r;

                if (!value)
                        continue;
                r = spec_encode(sage_groups[g].type, value, &text, 0, err);
                if (r == 0)
                        r = spec_decode(arena, sage_groups[g].type, NULL, text.text, text.size, &decoded, err);
                if (r == 0)
                        continue;
                err->code = (uint16_t)sage_code(g, err->where);
                option = option_of(g, err->where);
                return option ? about(option, r, err) : r;
        }
        return 0;
}

int sandbox_request_said(struct arena *arena, const struct sandbox_options *o, const struct sandbox_found *found, struct sage_request *ret,
        struct error *err) {
        struct sage_request said = { .has = SAGE_REQUEST_HAS_PROFILE, .profile = SAGE_PROFILE_STRICT };
        struct sage_host *host;
        int r;

        if ((r = take_texts(arena, o, &said, err)) < 0 || (r = take_network(arena, o, found, &said, err)) < 0)
                return r;
        take_filesystem(arena, o, found, sage_group_make(arena, &said, SAGE_FILESYSTEM));
        take_names(arena, &found->env, &said);
        host = sage_group_make(arena, &said, SAGE_HOST);
        host->linux_execution_uid = found->uid;
        host->linux_execution_gid = found->gid;
        host->has |= SAGE_HOST_HAS_LINUX_EXECUTION_UID | SAGE_HOST_HAS_LINUX_EXECUTION_GID;
        if ((r = check_values(arena, &said, err)) < 0)
                return r;
        *ret = said;
        return 0;
}
