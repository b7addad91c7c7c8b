#include "plan/cgroup.h"

#include "plan/cgroup_resources.h"
#include "plan/device_rules.h"
#include "plan/ids.h"
#include "plan/sandbox_cgroup.h"

#include <linux/sched.h>
#include <sys/mount.h>

/* PATH joined to BASE, single slashes, nothing behind the last name. ".." would leave the place that was chosen for us. */
static int join(struct compilation *c, const char *base, const char *path, const char **ret) {
        char *joined = arena_alloc(c->arena, strlen(base) + strlen(path) + 3);
        size_t used = 0;

        for (const char *part = base;; part = path) {
                for (const char *at = part; *(at += strspn(at, "/"));) {
                        size_t n = strcspn(at, "/");

                        if (n == 2 && at[0] == '.' && at[1] == '.')
                                return INVALID(c->err, "linux.cgroupsPath", "expected a path without \"..\", found \"%s\"", path);
                        if (n != 1 || at[0] != '.') {
                                joined[used++] = '/';
                                memcpy(joined + used, at, n);
                                used += n;
                        }
                        at += n;
                }
                if (part == path)
                        break;
        }
        joined[used] = '\0';
        *ret = joined;
        return 0;
}

/* The directory above our own cgroup: one that holds processes, as ours does, cannot have controllers enabled below it. */
static const char *above(struct arena *arena, const char *own) {
        const char *slash = strrchr(own, '/');

        return slash && slash > own ? arena_strndup(arena, own, (size_t)(slash - own)) : "/";
}

static bool is_host_root(const struct facts_identity *identity) {
        return identity->euid == 0 && identity->initial_userns;
}

/* Below the mount for an absolute path. A relative one, and the id where there is none, go below the mount for root, as crun has it, so
 * that one value always names one place; an unprivileged runtime cannot write there and goes beside its own cgroup, as runc has it. */
static int compile_path(struct compilation *c, const char *asked, const char **ret) {
        const char *path = asked && *asked ? asked : c->plan->id, *base = "/";
        int r;

        if (path[0] != '/' && !is_host_root(c->facts->identity))
                base = above(c->arena, c->facts->cgroup->own);
        if ((r = join(c, base, path, ret)) < 0)
                return r;
        if (!**ret || (path[0] != '/' && path[strspn(path, "./")] == '\0'))
                return INVALID(c->err, "linux.cgroupsPath", "expected a cgroup below the root of the hierarchy, found \"%s\"", path);
        return 0;
}

static int compile_devices(struct compilation *c, const struct oci_linux_resources *resources, struct plan_cgroup *cgroup) {
        bool asked = resources && resources->n_devices, without = cgroup->manager == PLAN_CGROUP_MANAGER_DISABLED, useless;
        int r = device_rules_compile(c->arena, asked ? resources->devices : NULL, asked ? resources->n_devices : 0, c->plan->devices,
                c->plan->n_devices, "linux.resources", cgroup, c->err);

        useless = device_rules_useless(c->facts->identity, c->plan);
        if (r < 0 || (!without && !useless))
                return r;
        if (without && asked && cgroup->limit_devices && !useless)
                warn(c->arena, &c->warnings, "linux.resources.devices: has no effect without a cgroup");
        cgroup->devices = NULL;
        cgroup->n_devices = 0;
        cgroup->limit_devices = false;
        cgroup->has &= ~PLAN_CGROUP_HAS_LIMIT_DEVICES;
        return 0;
}

/* A sandbox whose limits are sampled needs no cgroup; the others say what of it is missing. */
static bool only_sampled(const struct plan_plan *plan) {
        const struct sage_limits *limits = plan->sandbox ? plan->sandbox->limits : NULL;
        const struct sage_resources *resources = plan->sandbox ? plan->sage->resources : NULL;

        return resources && !resources->require_hard_limits && limits->cpu != SAGE_LIMIT_STATE_HARD &&
                limits->memory != SAGE_LIMIT_STATE_HARD && limits->process_count != SAGE_LIMIT_STATE_HARD;
}

static bool may_use(const struct compilation *c, const char *path) {
        const struct facts_cgroup *cgroup = c->facts->cgroup;

        if (only_sampled(c->plan) && (cgroup->version != FACTS_CGROUP_VERSION_V2 || !cgroup->writable))
                return false;
        return is_host_root(c->facts->identity) || (cgroup->writable && (!cgroup->root || path_is_below(path, cgroup->root)));
}

/* An ordinary user whom nobody gave a cgroup still gets a container, as with runc and crun, as long as nothing is to be limited, and a
 * sandbox with sampled limits needs none on a host of cgroup v1; else admission says what is missing. */
static void do_without(struct compilation *c, struct plan_cgroup *cgroup) {
        const char *asked = c->request->config->linux->cgroups_path;

        if (may_use(c, cgroup->path) || cgroup_first_limit(cgroup, NULL))
                return;
        if (asked && *asked)
                warn(c->arena, &c->warnings, "linux.cgroupsPath: %s is no cgroup that this user may use, so none is made", cgroup->path);
        cgroup->manager = PLAN_CGROUP_MANAGER_DISABLED;
}

/* What remains of a cgroup that is not made. */
static int leave_out(struct compilation *c, struct plan_cgroup *cgroup) {
        const struct plan_cgroup_write *limit = cgroup_first_limit(cgroup, NULL);

        if (limit)
                return INVALID(c->err, limit->field, "limits need a cgroup, and --cgroup-manager disabled makes none");
        if (!namespace_made(c->plan, CLONE_NEWPID))
                warn(c->arena, &c->warnings,
                        "linux.namespaces: with neither a pid namespace nor a cgroup of the container's own, nobody can "
                        "tell its processes: those that leave its first one outlive it");
        *cgroup = (struct plan_cgroup){ .manager = PLAN_CGROUP_MANAGER_DISABLED };
        return 0;
}

/* config-linux.md, "Cgroup ownership": the container's user may manage a cgroup that it sees as the root of a hierarchy and may write to. */
static void choose_owner(struct compilation *c, struct plan_cgroup *cgroup) {
        const struct plan_plan *plan = c->plan;
        uint32_t uid = plan->process->uid;
        bool writable = false;

        for (size_t i = 0; i < plan->n_mounts; i++)
                if (streq(plan->mounts[i].destination, "/sys/fs/cgroup"))
                        writable = plan->mounts[i].kind == PLAN_MOUNT_KIND_CGROUP && !(plan->mounts[i].flags & MS_RDONLY);
        if (!writable || !namespace_made(plan, CLONE_NEWCGROUP))
                return;
        if (namespace_own(plan, CLONE_NEWUSER) && !ids_outside(plan->ids->uid_map, plan->ids->n_uid_map, uid, &uid))
                return;
        if (uid == c->facts->identity->euid) /* who makes it */
                return;
        cgroup->owner = uid;
        cgroup->has |= PLAN_CGROUP_HAS_OWNER;
}

int cgroup_compile(struct compilation *c) {
        const struct oci_linux *linux = c->request->config->linux;
        struct plan_cgroup *cgroup = arena_new(c->arena, struct plan_cgroup);
        int r;

        c->plan->cgroup = cgroup;
        cgroup->manager = c->request->manager;
        if (cgroup->manager == PLAN_CGROUP_MANAGER_SYSTEMD)
                return UNSUPPORTED(
                        c->err, "linux.cgroupsPath", "the systemd cgroup manager is not supported yet; use --cgroup-manager cgroupfs");
        if ((r = cgroup_resources(c->arena, linux->resources, "linux.resources", cgroup, &c->warnings, c->err)) < 0)
                return r;
        if (c->plan->sage)
                sandbox_cgroup_limits(c, cgroup);
        if (cgroup->manager != PLAN_CGROUP_MANAGER_DISABLED) {
                if ((r = compile_path(c, linux->cgroups_path, &cgroup->path)) < 0 ||
                        (c->plan->sandbox && (r = sandbox_cgroup_place(c, &cgroup->path)) < 0))
                        return r;
                do_without(c, cgroup);
        }
        if ((r = compile_devices(c, linux->resources, cgroup)) < 0)
                return r;
        if (cgroup->manager == PLAN_CGROUP_MANAGER_DISABLED)
                return leave_out(c, cgroup);
        choose_owner(c, cgroup);
        return 0;
}
