/* The host policy: settings of the host, and what bundles may ask for. */
#include "plan/sage_draft.h"

#include <stdio.h>

/* What the host policy has of them, as an annotation would say it. */
static struct sage_host settings_of(struct arena *arena, const struct sage_host_policy *policy) {
        return (struct sage_host){
                .has = (policy->has & SAGE_HOST_POLICY_HAS_LINUX_EXECUTION_UID ? SAGE_HOST_HAS_LINUX_EXECUTION_UID : 0) |
                        (policy->has & SAGE_HOST_POLICY_HAS_LINUX_EXECUTION_GID ? SAGE_HOST_HAS_LINUX_EXECUTION_GID : 0),
                .linux_cgroup_root = policy->linux_cgroup_root ? sage_shortest(arena, policy->linux_cgroup_root) : NULL,
                .linux_quota_mount = policy->linux_quota_mount ? sage_shortest(arena, policy->linux_quota_mount) : NULL,
                .linux_execution_uid = policy->linux_execution_uid,
                .linux_execution_gid = policy->linux_execution_gid,
        };
}

/* Each that is not said; one that is must be the same. */
static int take_settings(struct sage_draft *d, const struct sage_host_policy *policy) {
        const struct sage_host theirs = settings_of(d->arena, policy);
        const struct spec_type *type = &sage_host_type;
        int r = 0;

        for (unsigned i = 0; r == 0 && i < spec_members(type); i++) {
                struct sage_host *ours;

                if (!spec_member_given(type, i, &theirs))
                        continue;
                ours = sage_group_make(d->arena, d->layer->request, SAGE_HOST);
                if (!spec_member_given(type, i, ours)) {
                        spec_member_take(type, i, ours, &theirs);
                        d->layer->origin[SAGE_HOST][i] = SAGE_HOST_POLICY;
                } else if (!spec_member_equal(type, i, ours, &theirs)) {
                        r = SAGE_REFUSE(d, SAGE_HOST, spec_member_name(type, i), -1, "the host policy %s says something else",
                                d->sources->host_path);
                }
        }
        return r;
}

static int both(struct sage_draft *d, enum sage_group group, const char *one, const char *other) {
        const void *value = sage_group(d->layer->request, group);
        const struct spec_type *type = sage_groups[group].type;
        bool first = spec_member_given(type, (unsigned)spec_member_find(type, one, strlen(one)), value);
        bool second = spec_member_given(type, (unsigned)spec_member_find(type, other, strlen(other)), value);

        if (first == second)
                return 0;
        return SAGE_REFUSE(d, group, first ? one : other, -1, "%s is missing: the two go together", first ? other : one);
}

int sage_host_settings(struct sage_draft *d) {
        const struct sage_host_policy *policy = d->sources->host;
        const struct sage_request *request = d->layer->request;
        struct sage_host *host = request->host;
        int r;

        if (host && host->linux_cgroup_root)
                host->linux_cgroup_root = sage_shortest(d->arena, host->linux_cgroup_root);
        if (host && host->linux_quota_mount)
                host->linux_quota_mount = sage_shortest(d->arena, host->linux_quota_mount);
        if (policy && (request->has & SAGE_REQUEST_HAS_PROFILE || request->resources || request->host) &&
                (r = take_settings(d, policy)) < 0)
                return r;
        if (request->host &&
                ((r = both(d, SAGE_HOST, "linux_cgroup_root", "linux_quota_mount")) < 0 ||
                        (r = both(d, SAGE_HOST, "linux_execution_uid", "linux_execution_gid")) < 0))
                return r;
        return request->filesystem ? both(d, SAGE_FILESYSTEM, "workspace_st_dev", "workspace_st_ino") : 0;
}

/* ---- bounds ---------------------------------------------------------------------------------------------------------- */

static const struct {
        const char *member;
        enum sage_group group;
} ceilings[] = {
        { "cpu_percent", SAGE_RESOURCES },
        { "memory_mb", SAGE_RESOURCES },
        { "disk_mb", SAGE_RESOURCES },
        { "max_processes", SAGE_RESOURCES },
        { "max_wall_time_seconds", SAGE_PROCESS },
        { "max_output_bytes", SAGE_PROCESS },
        { "max_request_body_bytes", SAGE_NETWORK },
        { "max_response_bytes", SAGE_NETWORK },
        { "max_connections", SAGE_NETWORK },
};

/* What was said may not be above it; a default is lowered, and what a strict sandbox leaves without a limit gets this one. */
static int check_ceiling(struct sage_draft *d, const struct sage_ceilings *limits, const char *member, enum sage_group group) {
        const struct spec_type *type = sage_groups[group].type;
        unsigned i = (unsigned)spec_member_find(type, member, strlen(member));
        unsigned k = (unsigned)spec_member_find(&sage_ceilings_type, member, strlen(member));
        void *value = sage_group(d->layer->request, group);
        bool strict = d->layer->request->has & SAGE_REQUEST_HAS_PROFILE, given;

        if (!value || !spec_member_given(&sage_ceilings_type, k, limits))
                return 0;
        given = spec_member_given(type, i, value);
        if (given ? spec_member_compare(type, i, value, &sage_ceilings_type, k, limits) <= 0 : !strict)
                return 0;
        if (d->layer->origin[group][i] != SAGE_NOBODY)
                return SAGE_REFUSE(d, group, member, -1, "expected no more than ceilings.%s of the host policy %s allows", member,
                        d->sources->host_path);
        spec_member_copy_number(type, i, value, &sage_ceilings_type, k, limits);
        d->layer->origin[group][i] = SAGE_HOST_POLICY;
        return 0;
}

static bool within(struct arena *arena, const char *path, const char *const *roots, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (path_is_below(path, sage_shortest(arena, roots[i])))
                        return true;
        return false;
}

static int check_roots(struct sage_draft *d, const char *member, const char **paths, size_t n_paths, const char **roots, size_t n_roots,
        const char *rule, bool list) {
        for (size_t i = 0; roots && i < n_paths; i++)
                if (!within(d->arena, paths[i], (const char *const *)roots, n_roots))
                        return SAGE_REFUSE(d, SAGE_FILESYSTEM, member, list ? (int)i : -1,
                                "%s is not below any of %s of the host policy %s", paths[i], rule, d->sources->host_path);
        return 0;
}

static int check_filesystem(struct sage_draft *d, const struct sage_host_policy *policy, struct sage_filesystem *f) {
        const char *workspace[] = { f->workspace };
        int r;

        if (policy->allow_symlinks) { /* a host that writes all defaults out says false without meaning it */
                f->allow_symlinks = true;
                f->has |= SAGE_FILESYSTEM_HAS_ALLOW_SYMLINKS;
        }
        if ((r = check_roots(d, "workspace", workspace, f->workspace ? 1 : 0, policy->workspace_roots, policy->n_workspace_roots,
                     "workspace_roots", false)) < 0 ||
                (r = check_roots(d, "read_paths", f->read_paths, f->n_read_paths, policy->read_roots, policy->n_read_roots, "read_roots",
                         true)) < 0)
                return r;
        return check_roots(
                d, "write_paths", f->write_paths, f->n_write_paths, policy->write_roots, policy->n_write_roots, "write_roots", true);
}

/* An origin with or without its last slash is the same. */
static bool same_origin(const char *a, const char *b) {
        size_t n = strlen(a), m = strlen(b);

        n -= n && a[n - 1] == '/';
        m -= m && b[m - 1] == '/';
        return n == m && strncasecmp(a, b, n) == 0;
}

static int check_proxy(struct sage_draft *d, const struct sage_host_policy *policy, const struct sage_network *network) {
        for (size_t i = 0; i < policy->n_upstream_proxies; i++)
                if (same_origin(network->proxy_url, policy->upstream_proxies[i]))
                        return 0;
        return SAGE_REFUSE(d, SAGE_NETWORK, "proxy_url", -1, "%s is none of upstream_proxies of the host policy %s", network->proxy_url,
                d->sources->host_path);
}

int sage_host_bounds(struct sage_draft *d) {
        const struct sage_host_policy *policy = d->sources->host;
        const struct sage_request *request = d->layer->request;
        int r;

        if (!policy)
                return 0;
        for (size_t i = 0; policy->ceilings && i < ELEMENTSOF(ceilings); i++)
                if ((r = check_ceiling(d, policy->ceilings, ceilings[i].member, ceilings[i].group)) < 0)
                        return r;
        if (request->filesystem && (r = check_filesystem(d, policy, request->filesystem)) < 0)
                return r;
        return request->network && request->network->proxy_url && policy->upstream_proxies ? check_proxy(d, policy, request->network) : 0;
}
