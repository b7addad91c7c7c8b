#define _GNU_SOURCE
#include "cmd/update_options.h"

#include <errno.h>
#include <fcntl.h>

#include "apply/cgroup_update.h"
#include "apply/rdt.h"
#include "base/fd.h"
#include "base/str.h"
#include "cmd/bundle.h"
#include "cmd/command.h"
#include "facts/facts.h"
#include "life/state.h"
#include "plan/cgroup_resources.h"
#include "plan/cgroup_update.h"
#include "plan/rdt.h"
#include "plan/sandbox_update.h"

#define ROW(name, member, help) \
        { name, 0, OPTION_TEXT, offsetof(struct update_options, member), help }

static const struct option_row options[] = {
        { "resources", 'r', OPTION_TEXT, offsetof(struct update_options, resources), "JSON file with linux.resources, - for stdin" },
        ROW("blkio-weight", blkio_weight, "share of block I/O, 10 to 1000"),
        ROW("cpu-period", cpu_period, "microseconds in which cpu-quota may be used up"),
        ROW("cpu-quota", cpu_quota, "microseconds of CPU time a period, -1 for no limit"),
        ROW("cpu-burst", cpu_burst, "microseconds by which saved quota may be exceeded"),
        ROW("cpu-share", cpu_shares, "share of CPU time, 2 to 262144"),
        ROW("cpu-shares", cpu_shares, "the same"),
        ROW("cpu-idle", cpu_idle, "1: only CPU time that nobody else wants"),
        ROW("cpu-rt-period", cpu_rt_period, "refused unless 0: cgroup v2 has nothing like it"),
        ROW("cpu-rt-runtime", cpu_rt_runtime, "refused unless 0: cgroup v2 has nothing like it"),
        ROW("cpuset-cpus", cpuset_cpus, "CPUs, such as 0-3,7"),
        ROW("cpuset-mems", cpuset_mems, "memory nodes"),
        ROW("kernel-memory", kernel_memory, "refused unless 0 or -1: cgroup v2 has nothing like it"),
        ROW("kernel-memory-tcp", kernel_memory_tcp, "refused unless 0 or -1: cgroup v2 has nothing like it"),
        ROW("memory", memory, "bytes, with k, m, g or t behind; -1 for no limit"),
        ROW("memory-reservation", memory_reservation, "bytes that are reclaimed last"),
        ROW("memory-swap", memory_swap, "bytes of memory and swap together, -1 for no limit"),
        ROW("pids-limit", pids_limit, "processes, -1 for no limit"),
        ROW("l3-cache-schema", l3_cache_schema, "L3 cache of the class of service, such as L3:0=f"),
        ROW("mem-bw-schema", mem_bw_schema, "its memory bandwidth, such as MB:0=20"),
};
extern const struct command command_update;

static bool asks_for_schema(const struct update_options *o) {
        return o->l3_cache_schema || o->mem_bw_schema;
}

/* The options overrule the file. */
static int read_resources(
        struct invocation *invocation, const struct update_options *o, struct oci_linux_resources *ret, struct error *err) {
        unsigned n;
        int r;

        *ret = (struct oci_linux_resources){ 0 };
        if (o->resources && (r = bundle_decode(invocation, o->resources, &oci_linux_resources_type, ret, err)) < 0)
                return r;
        if ((r = update_options_apply(invocation->arena, o, ret, &n, err)) < 0)
                return r;
        return o->resources || n || asks_for_schema(o)
                ? 0
                : fail(err, CODE_USAGE, EINVAL, "", "nothing to update: expected --resources or another option");
}

static int open_cgroup(const struct container *container, const struct plan_cgroup *update, int *ret, struct error *err) {
        const struct plan_cgroup_write *limit = cgroup_first_limit(update, NULL);
        const struct status_cgroup_claim *claim = container->status.cgroup;
        int fd;

        if (!claim)
                return fail(err, CODE_RESOURCE_LIMITS_UNSUPPORTED, EOPNOTSUPP, limit ? limit->field : "linux.resources.devices",
                        "the container has no cgroup");
        fd = open(claim->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
                return fail_errno(err, CODE_INTERNAL, errno, claim->path, "cannot open the container's cgroup");
        *ret = fd;
        return 0;
}

/* No limit is nothing to ask for where there is no cgroup. */
static bool asks_for_something(const struct container *container, const struct plan_cgroup *update) {
        if (update->has & PLAN_CGROUP_HAS_LIMIT_DEVICES)
                return true;
        return container->status.cgroup ? update->n_writes > 0 : cgroup_first_limit(update, NULL) != NULL;
}

/* The class of service (linux.intelRdt) with its new schemata, in PLAN. */
static int change_schemata(
        const struct update_options *o, const struct container *container, struct plan_plan *plan, struct str *before, struct error *err) {
        int r = rdt_change(container->status.rdt, o->l3_cache_schema, o->mem_bw_schema, before, err);

        if (r < 0)
                return r;
        plan->rdt->l3_cache_schema = o->l3_cache_schema ?: plan->rdt->l3_cache_schema;
        plan->rdt->mem_bw_schema = o->mem_bw_schema ?: plan->rdt->mem_bw_schema;
        return 0;
}

static int check_schemata(
        const struct update_options *o, const struct container *container, const struct plan_plan *plan, struct error *err) {
        int r;

        if (!asks_for_schema(o))
                return 0;
        if (!plan->rdt || !container->status.rdt)
                return fail(err, CODE_CAPABILITY_UNSUPPORTED, EOPNOTSUPP, o->l3_cache_schema ? "--l3-cache-schema" : "--mem-bw-schema",
                        "the container was made without linux.intelRdt, and a class of service cannot be had later");
        if (o->l3_cache_schema && (r = rdt_check_schema(o->l3_cache_schema, NULL, "--l3-cache-schema", err)) < 0)
                return r;
        return o->mem_bw_schema ? rdt_check_schema(o->mem_bw_schema, "MB", "--mem-bw-schema", err) : 0;
}

/* The cgroup first, then the class of service, then the plan. A runtime that is killed in between leaves the limits that were asked for, and a plan that says what
 * was there before; nothing reads that part of it but the next update. */
static int update(struct invocation *invocation, const struct update_options *o, struct container *container,
        const struct oci_linux_resources *resources, struct error *err) {
        _cleanup_str_ struct str schemata = { 0 };
        _cleanup_cgroup_changes_ struct cgroup_changes changes = CGROUP_UNCHANGED;
        struct host host = { .arena = invocation->arena };
        struct plan_cgroup *update, *kept;
        _cleanup_close_ int fd = -1;
        struct plan_plan plan;
        bool limits;
        int r;

        if ((r = container_load_plan(invocation->arena, container, &plan, err)) < 0 || (r = check_schemata(o, container, &plan, err)) < 0 ||
                (resources->n_devices && (r = facts_need(&host, FACTS_IDENTITY, err)) < 0) ||
                (r = cgroup_update_compile(invocation->arena, resources, &plan, host.facts.identity, &update, &kept, err)) < 0 ||
                (plan.sage && (r = sandbox_update_check(invocation->arena, &plan, update, err)) < 0))
                return r;
        limits = asks_for_something(container, update);
        if (!limits && !asks_for_schema(o))
                return 0;
        if (limits &&
                ((r = open_cgroup(container, update, &fd, err)) < 0 ||
                        (r = cgroup_update(invocation->arena, container->status.cgroup->path, fd, update, &changes, err)) < 0))
                return r;
        if (limits)
                plan.cgroup = kept;
        r = asks_for_schema(o) ? change_schemata(o, container, &plan, &schemata, err) : 0;
        if (r == 0 && (r = container_replace_plan(container, &plan, err)) < 0 && asks_for_schema(o) &&
                rdt_restore(container->status.rdt, &schemata) < 0)
                err->effect = EFFECT_APPLIED;
        if (r < 0 && limits && !cgroup_revert(fd, &changes))
                err->effect = EFFECT_APPLIED;
        return r;
}

static int run(struct invocation *invocation, int argc, char **argv, int *ret_status, struct error *err) {
        _cleanup_container_ struct container container = CONTAINER_CLOSED;
        struct oci_linux_resources resources;
        struct update_options o = { 0 };
        enum oci_status status;
        char **operands;
        int r;

        if ((r = command_parse(invocation, &command_update, argc, argv, &o, 1, 1, &operands, NULL, err)) < 0 ||
                (r = read_resources(invocation, &o, &resources, err)) < 0 ||
                (r = container_open(invocation->arena, invocation->root, operands[0], CONTAINER_LOCKED, &container, err)) < 0 ||
                (r = container_state(&container, &status, NULL, err)) < 0)
                return r;
        if (status != OCI_STATUS_CREATED && status != OCI_STATUS_RUNNING && status != OCI_STATUS_PAUSED)
                return fail(err, CODE_INVALID_STATE, EINVAL, "", "container not running: cannot update a container that is %s",
                        spec_enum_name(&oci_status_enum, status));
        *ret_status = 0;
        return update(invocation, &o, &container, &resources, err);
}

const struct command command_update = { "update", "ID", "change the resources of a container", run, options, ELEMENTSOF(options), 1,
        OPTIONS_ANYWHERE };
