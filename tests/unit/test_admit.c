/* Every code of a gap, one case each: a host on which all is well, or a plan that it can run, changed in one place. */
#define _GNU_SOURCE
#include "hosts.h"

#include <errno.h>
#include <linux/capability.h>
#include <sched.h>

#include "plan/admit.h"
#include "plan/admit_rows.h"

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x00000080
#endif

/* A plan with one of everything that is optional, so that a case need only set a member. */
struct trial_plan {
        struct plan_plan plan;
        struct plan_rootfs rootfs;
        struct plan_namespaces namespaces;
        struct plan_join_namespace join;
        struct plan_ids ids;
        struct plan_id_range map;
        struct plan_process process;
        struct plan_scheduler scheduler;
        struct plan_memory_policy memory_policy;
        struct plan_rdt rdt;
        struct plan_range nodes[2];
        struct plan_filter filter;
        struct plan_cgroup cgroup;
        struct plan_cgroup_write write;
        struct plan_mount mounts[2];
        struct plan_idmap idmap;
        const char *controllers[4];
        struct plan_sandbox sandbox;
        struct sage_limits limits;
        struct sage_request sage;
        struct sage_resources resources;
        struct facts_project project;
        struct facts_cgroup_root cgroup_root;
        struct facts_controller_lack lack;
};

/* What `spec` writes, for root, with limits. */
static void make_plan(struct trial_plan *t) {
        *t = (struct trial_plan){
                .rootfs = { .path = "/bundle/rootfs" },
                .namespaces = { .create = CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP },
                .map = { .inside = 0, .outside = 100000, .count = 65536 },
                .process = { .cwd = "/" },
                .cgroup = { .manager = PLAN_CGROUP_MANAGER_CGROUPFS, .path = "/box", .limit_devices = true },
                .write = { .field = "linux.resources.memory.swap", .file = "memory.swap.max", .value = "0" },
                .mounts = { { .field = "mounts[0]", .destination = "/proc", .kind = PLAN_MOUNT_KIND_FILESYSTEM, .type = "proc" },
                            { .field = "mounts[1]", .destination = "/tmp", .kind = PLAN_MOUNT_KIND_FILESYSTEM, .type = "tmpfs" } },
                .controllers = { "cpu", "memory", "pids" },
        };
        t->plan = (struct plan_plan){
                .schema = 1, .id = "box", .bundle = "/bundle", .rootfs = &t->rootfs, .namespaces = &t->namespaces, .ids = &t->ids,
                .process = &t->process, .cgroup = &t->cgroup, .mounts = t->mounts, .n_mounts = 2,
        };
        t->cgroup.controllers = t->controllers;
        t->cgroup.n_controllers = 3;
        t->cgroup.writes = &t->write;
        t->cgroup.n_writes = 1;
}

struct subject {
        struct facts_facts *facts;
        struct trial_plan *plan;
};

static void is_user(struct subject *s) {
        *s->facts->identity = (struct facts_identity){ .euid = 1000, .egid = 1000, .initial_userns = true };
}

static void maps_ids(struct subject *s) {
        s->plan->namespaces.create |= CLONE_NEWUSER;
        s->plan->ids.uid_map = s->plan->ids.gid_map = &s->plan->map;
        s->plan->ids.n_uid_map = s->plan->ids.n_gid_map = 1;
}

static void user_maps_ids(struct subject *s) {
        is_user(s);
        maps_ids(s);
        s->plan->cgroup.manager = PLAN_CGROUP_MANAGER_DISABLED;
}

static void user_maps_with_helpers(struct subject *s) {
        user_maps_ids(s);
        s->plan->ids.use_helpers = true;
}

static void trial_fails(struct subject *s, enum facts_trial_step step, int errnum) {
        *s->facts->trial = (struct facts_trial){ .has = FACTS_TRIAL_HAS_FAILED | FACTS_TRIAL_HAS_ERRNUM, .failed = step, .errnum = errnum };
}

static void by_systemd(struct subject *s) {
        s->plan->cgroup.manager = PLAN_CGROUP_MANAGER_SYSTEMD;
}

static void idmaps_a_mount(struct subject *s) {
        s->plan->mounts[1].idmap = &s->plan->idmap;
}

#define CHANGE(name, ...) static void name(struct subject *s) { __VA_ARGS__ }

CHANGE(old_kernel, s->facts->kernel->major = 5; s->facts->kernel->minor = 13;)
CHANGE(no_time_namespace, s->plan->namespaces.create |= CLONE_NEWTIME; s->facts->features->n_namespaces = 5;)
CHANGE(user_without_userns, is_user(s); s->plan->cgroup.manager = PLAN_CGROUP_MANAGER_DISABLED;)
CHANGE(root_without_setuid, s->facts->identity->capabilities &= ~(UINT64_C(1) << CAP_SETUID);)
CHANGE(userns_not_built, s->facts->userns->has = 0; trial_fails(s, FACTS_TRIAL_STEP_CLONE, EINVAL);)
CHANGE(max_is_zero, s->facts->userns->max = 0; trial_fails(s, FACTS_TRIAL_STEP_CLONE, ENOSPC);)
CHANGE(switched_off, is_user(s); s->facts->userns->unprivileged_clone = false; trial_fails(s, FACTS_TRIAL_STEP_CLONE, EPERM);)
CHANGE(apparmor_restricts, is_user(s); s->facts->userns->apparmor_restricted = true; trial_fails(s, FACTS_TRIAL_STEP_MAP, EPERM);)
CHANGE(apparmor_restricts_mounts, is_user(s); s->facts->userns->apparmor_restricted = true; trial_fails(s, FACTS_TRIAL_STEP_MOUNT, EACCES);)
CHANGE(exhausted, trial_fails(s, FACTS_TRIAL_STEP_CLONE, ENOSPC);)
CHANGE(outer_filter, s->facts->userns->filtered = true; trial_fails(s, FACTS_TRIAL_STEP_CLONE, EPERM);)
CHANGE(refused, trial_fails(s, FACTS_TRIAL_STEP_CLONE, EPERM);)
CHANGE(no_helpers, user_maps_with_helpers(s); s->facts->subids->helpers = false; s->plan->map.outside = 1000; s->plan->map.count = 1;)
CHANGE(not_granted, user_maps_with_helpers(s);)
CHANGE(map_not_permitted, user_maps_ids(s);)
CHANGE(covered_proc, s->facts->proc->visible = false;)
CHANGE(proc_refused, trial_fails(s, FACTS_TRIAL_STEP_PROC, EPERM);)
CHANGE(no_seccomp, s->facts->kernel->seccomp = false;)
CHANGE(no_kill_process, s->facts->features->seccomp_actions++; s->facts->features->n_seccomp_actions--;)
/* What a network policy asks for by itself. */
static void may_have_no_network(struct subject *s) {
        static struct sage_network none = { .mode = SAGE_NETWORK_MODE_NONE };
        static struct sage_request request = { .network = &none };

        s->plan->plan.sage = &request;
}

CHANGE(no_seccomp_for_policy, may_have_no_network(s); no_seccomp(s);)
CHANGE(no_kill_process_for_policy, may_have_no_network(s); no_kill_process(s);)
CHANGE(old_listener_flag, s->plan->plan.filter = &s->plan->filter; s->plan->filter.flags = 1u << 5; s->facts->kernel->major = 5;
       s->facts->kernel->minor = 18;)
CHANGE(profile_without_apparmor, s->plan->process.apparmor_profile = "p"; s->facts->kernel->apparmor = false;)
CHANGE(label_without_selinux, s->plan->process.selinux_label = "system_u:system_r:container_t:s0";)
CHANGE(idmapped_tmpfs, idmaps_a_mount(s);)
CHANGE(idmapped_by_user, user_without_userns(s); s->plan->namespaces.create |= CLONE_NEWUSER; idmaps_a_mount(s);
       s->plan->mounts[1].kind = PLAN_MOUNT_KIND_BIND;)
/* A user who may not raise priorities asks for POLICY. */
static void user_schedules(struct subject *s, uint32_t policy, uint32_t priority, int32_t nice) {
        static struct facts_priorities priorities;

        is_user(s);
        s->plan->namespaces.create |= CLONE_NEWUSER;
        s->plan->cgroup.manager = PLAN_CGROUP_MANAGER_DISABLED;
        priorities = (struct facts_priorities){ .nice = 0, .realtime = 10 };
        s->facts->priorities = &priorities;
        s->plan->scheduler = (struct plan_scheduler){ .policy = policy, .priority = priority, .nice = nice };
        s->plan->process.scheduler = &s->plan->scheduler;
}

static void user_io(struct subject *s, uint32_t class) {
        user_schedules(s, SCHED_OTHER, 0, 0);
        s->plan->process.has |= PLAN_PROCESS_HAS_IO_PRIORITY;
        s->plan->process.io_priority = class << 13;
}

/* Nodes 1 to 3 and 8 of a host that has 0, 1 and 8. */
static void places_memory(struct subject *s, uint32_t mode) {
        static struct facts_numa numa;

        numa = (struct facts_numa){ .nodes = "0-1,8" };
        s->facts->numa = &numa;
        s->plan->nodes[0] = (struct plan_range){ 1, 3 };
        s->plan->nodes[1] = (struct plan_range){ 8, 8 };
        s->plan->memory_policy = (struct plan_memory_policy){ .mode = mode, .nodes = s->plan->nodes, .n_nodes = 2 };
        s->plan->plan.memory_policy = &s->plan->memory_policy;
}

static void on_kernel(struct subject *s, uint32_t major, uint32_t minor) {
        s->facts->kernel->major = major;
        s->facts->kernel->minor = minor;
}

/* Everything of RDT on a host that has everything of it. */
static void asks_for_rdt(struct subject *s) {
        static struct facts_rdt rdt;

        rdt = (struct facts_rdt){ .root = "/sys/fs/resctrl", .cache = true, .bandwidth = true, .monitoring = true, .writable = true };
        s->facts->rdt = &rdt;
        s->plan->rdt = (struct plan_rdt){ .group = "gold", .l3_cache_schema = "L3:0=f", .mem_bw_schema = "MB:0=10", .monitor = true };
        s->plan->plan.rdt = &s->plan->rdt;
}

CHANGE(no_resctrl, asks_for_rdt(s); *s->facts->rdt = (struct facts_rdt){ 0 };)
CHANGE(no_cache_allocation, asks_for_rdt(s); s->facts->rdt->cache = false;)
CHANGE(no_bandwidth_allocation, asks_for_rdt(s); s->facts->rdt->bandwidth = false;)
CHANGE(no_monitoring, asks_for_rdt(s); s->facts->rdt->monitoring = false;)
CHANGE(resctrl_of_root, asks_for_rdt(s); s->facts->rdt->writable = false;)
CHANGE(memory_without_numa, places_memory(s, 2); s->facts->numa->has = FACTS_NUMA_HAS_ERRNUM; s->facts->numa->errnum = ENOSYS;)
CHANGE(memory_filtered, places_memory(s, 2); s->facts->numa->has = FACTS_NUMA_HAS_ERRNUM; s->facts->numa->errnum = EPERM;)
CHANGE(old_preferred_many, places_memory(s, 5); on_kernel(s, 5, 14);)
CHANGE(old_weighted, places_memory(s, 6); on_kernel(s, 6, 8);)
CHANGE(old_balancing, places_memory(s, 5 | 1 << 13); on_kernel(s, 6, 8);)
CHANGE(memory_elsewhere, places_memory(s, 2); s->plan->nodes[0] = s->plan->nodes[1] = (struct plan_range){ 2, 7 };)
CHANGE(deadline_of_user, user_schedules(s, 6, 0, 0);)
CHANGE(fifo_of_user, user_schedules(s, SCHED_FIFO, 11, 0);)
CHANGE(round_robin_of_user, user_schedules(s, SCHED_RR, 11, 0);)
CHANGE(nice_of_user, user_schedules(s, SCHED_BATCH, 0, -1);)
CHANGE(realtime_io_of_user, user_io(s, 1);)
CHANGE(writable_policy, s->facts->policy->trusted = false;)
CHANGE(cgroup_v1, s->facts->cgroup->version = FACTS_CGROUP_VERSION_V1;)
CHANGE(cgroup_read_only, s->facts->cgroup->writable = false; s->facts->cgroup->root = NULL;)
CHANGE(not_delegated, is_user(s); cgroup_read_only(s);)
CHANGE(outside, s->facts->cgroup->own = "/user.slice/user-1000.slice/session-3.scope";
       s->facts->cgroup->root = "/user.slice/user-1000.slice/session-3.scope";
       s->plan->cgroup.path = "/user.slice/user-1000.slice/user@1000.service/box";)
CHANGE(no_controllers, s->facts->cgroup->n_controllers = 0;)
CHANGE(none_delegated, s->facts->cgroup->root = "/system.slice"; s->facts->cgroup->n_controllers = 0;)
CHANGE(occupied, s->facts->delegation->occupied = true; s->facts->delegation->n_enabled = 0;)
CHANGE(no_kill, s->facts->delegation->kill = false;)
CHANGE(no_swap_control, s->facts->delegation->swap = FACTS_SWAP_CONTROL_UNACCOUNTED;)
CHANGE(no_systemd, by_systemd(s); s->facts->delegation->systemd = false;)
CHANGE(systemd_lacks, by_systemd(s); s->facts->delegation->n_systemd_controllers = 0;)
CHANGE(devices_of_user, is_user(s); s->plan->namespaces.create |= CLONE_NEWUSER;)
CHANGE(no_xfs, s->facts->n_quotas = 0;)
CHANGE(not_xfs, s->facts->quotas->xfs = false;)
CHANGE(quota_unavailable, s->facts->quotas->has |= FACTS_QUOTA_HAS_ERRNUM; s->facts->quotas->errnum = EPERM;)
CHANGE(quota_mount_absent, s->facts->quotas->xfs = false; quota_unavailable(s);)
CHANGE(no_prjquota, s->facts->quotas->accounting = false;)
CHANGE(not_enforced, s->facts->quotas->enforcement = false;)
CHANGE(unreadable, s->facts->quotas->readable = false;)

#define MIB (UINT64_C(1) << 20)

/* A strict sandbox of 8 MiB, in a project of as much. */
static void limits_disk(struct subject *s) {
        struct trial_plan *t = s->plan;

        t->limits = (struct sage_limits){ .cpu = SAGE_LIMIT_STATE_HARD, .memory = SAGE_LIMIT_STATE_HARD,
                .process_count = SAGE_LIMIT_STATE_HARD, .disk = SAGE_LIMIT_STATE_HARD };
        t->resources = (struct sage_resources){ .has = SAGE_RESOURCES_HAS_DISK_MB, .disk_mb = 8, .require_hard_limits = true };
        t->project = (struct facts_project){ .workspace = "/srv/w", .mount = "/srv", .same_filesystem = true, .below = true, .id = 1001,
                .inherits = true, .block_hard = 8 * MIB, .inode_hard = 2048 };
        t->sandbox.limits = &t->limits;
        t->sage.resources = &t->resources;
        t->plan.sage = &t->sage;
        t->plan.sandbox = &t->sandbox;
        s->facts->project = &t->project;
}

CHANGE(workspace_elsewhere, limits_disk(s); s->plan->project.same_filesystem = false;)
CHANGE(workspace_is_mount, limits_disk(s); s->plan->project.below = false;)
CHANGE(project_unknown, limits_disk(s); s->plan->project.has |= FACTS_PROJECT_HAS_ERRNUM; s->plan->project.errnum = EPERM;)
CHANGE(no_project, limits_disk(s); s->plan->project.id = 0;)
CHANGE(not_inherited, limits_disk(s); s->plan->project.inherits = false;)
CHANGE(realtime, limits_disk(s); s->plan->project.realtime = true;)
CHANGE(no_block_limit, limits_disk(s); s->plan->project.block_hard = 0;)
CHANGE(block_limit_too_high, limits_disk(s); s->plan->project.block_hard += 512;)
CHANGE(no_inode_limit, limits_disk(s); s->plan->project.inode_hard = 0;)
CHANGE(inode_limit_too_high, limits_disk(s); s->plan->project.inode_hard++;)
CHANGE(limits_not_configured, limits_disk(s);
       s->plan->limits = (struct sage_limits){ .cpu = SAGE_LIMIT_STATE_HARD, .memory = SAGE_LIMIT_STATE_HARD,
               .process_count = SAGE_LIMIT_STATE_HARD, .disk = SAGE_LIMIT_STATE_SAMPLED };)
CHANGE(less_than_was_asked_for, limits_disk(s); s->plan->project.block_hard -= 4096; s->plan->project.inode_hard = 1;)
CHANGE(sampling_that_is_allowed, limits_not_configured(s); s->plan->resources.require_hard_limits = false;)

/* A strict sandbox below /sys/fs/cgroup/sage. */
static void has_root(struct subject *s, enum facts_cgroup_root_state state) {
        limits_disk(s);
        s->plan->cgroup_root = (struct facts_cgroup_root){ .path = "/sys/fs/cgroup/sage", .state = state, .writable = true };
        s->facts->cgroup_root = &s->plan->cgroup_root;
}

static void root_lacks(struct subject *s, const char *controller, enum facts_controller_obstacle why) {
        has_root(s, FACTS_CGROUP_ROOT_STATE_USABLE);
        s->plan->lack = (struct facts_controller_lack){ .controller = controller, .at = "/sys/fs/cgroup/sage", .why = why };
        s->plan->cgroup_root.lacks = &s->plan->lack;
        s->plan->cgroup_root.n_lacks = 1;
}

CHANGE(usable_root, has_root(s, FACTS_CGROUP_ROOT_STATE_USABLE);)
CHANGE(no_root, has_root(s, FACTS_CGROUP_ROOT_STATE_MISSING);)
CHANGE(foreign_root, has_root(s, FACTS_CGROUP_ROOT_STATE_FOREIGN);)
CHANGE(threaded_root, has_root(s, FACTS_CGROUP_ROOT_STATE_THREADED);)
CHANGE(root_of_others, has_root(s, FACTS_CGROUP_ROOT_STATE_USABLE); s->plan->cgroup_root.writable = false;)
CHANGE(root_without_memory, root_lacks(s, "memory", FACTS_CONTROLLER_OBSTACLE_ABSENT);)
CHANGE(root_with_processes, root_lacks(s, "pids", FACTS_CONTROLLER_OBSTACLE_OCCUPIED);)
CHANGE(root_kept_from_us, root_lacks(s, "cpu", FACTS_CONTROLLER_OBSTACLE_DENIED);)

enum scope { STRICT, BUNDLE };

static const struct {
        const char *code;
        enum scope scope;
        void (*change)(struct subject *s);
        const char *limit; /* one of the items it breaks */
} cases[] = {
        { "kernel.too_old", STRICT, old_kernel, "kernel" },
        { "namespace.missing", BUNDLE, no_time_namespace, "namespaces" },
        { "namespace.not_privileged", BUNDLE, user_without_userns, "namespaces" },
        { "identity.cannot_become", STRICT, root_without_setuid, "identity" },
        { "userns.not_built", STRICT, userns_not_built, "user_namespace" },
        { "userns.max_user_namespaces", STRICT, max_is_zero, "user_namespace" },
        { "userns.unprivileged_userns_clone", STRICT, switched_off, "user_namespace" },
        { "userns.apparmor_restricted", STRICT, apparmor_restricts, "user_namespace" },
        { "userns.apparmor_restricted", STRICT, apparmor_restricts_mounts, "user_namespace" },
        { "userns.exhausted", STRICT, exhausted, "user_namespace" },
        { "userns.outer_seccomp", STRICT, outer_filter, "user_namespace" },
        { "userns.refused", STRICT, refused, "user_namespace" },
        { "ids.no_helpers", BUNDLE, no_helpers, "id_map" },
        { "ids.not_granted", BUNDLE, not_granted, "id_map" },
        { "ids.map_not_permitted", BUNDLE, map_not_permitted, "id_map" },
        { "proc.covered", STRICT, covered_proc, "proc" },
        { "proc.refused", STRICT, proc_refused, "proc" },
        { "seccomp.missing", STRICT, no_seccomp, "seccomp" },
        { "seccomp.action_missing", STRICT, no_kill_process, "seccomp" },
        { "seccomp.missing", BUNDLE, no_seccomp_for_policy, "seccomp" },
        { "seccomp.action_missing", BUNDLE, no_kill_process_for_policy, "seccomp" },
        { "seccomp.flag_missing", BUNDLE, old_listener_flag, "seccomp" },
        { "apparmor.missing", BUNDLE, profile_without_apparmor, "apparmor" },
        { "selinux.missing", BUNDLE, label_without_selinux, "selinux" },
        { "mount.idmap_unsupported", BUNDLE, idmapped_tmpfs, "idmapped_mounts" },
        { "mount.idmap_unprivileged", BUNDLE, idmapped_by_user, "idmapped_mounts" },
        { "scheduler.unprivileged", BUNDLE, deadline_of_user, "scheduler" },
        { "scheduler.unprivileged", BUNDLE, fifo_of_user, "scheduler" },
        { "scheduler.unprivileged", BUNDLE, round_robin_of_user, "scheduler" },
        { "scheduler.unprivileged", BUNDLE, nice_of_user, "scheduler" },
        { "io_priority.unprivileged", BUNDLE, realtime_io_of_user, "io_priority" },
        { "memory_policy.unavailable", BUNDLE, memory_without_numa, "memory_policy" },
        { "memory_policy.unavailable", BUNDLE, memory_filtered, "memory_policy" },
        { "memory_policy.mode_missing", BUNDLE, old_preferred_many, "memory_policy" },
        { "memory_policy.mode_missing", BUNDLE, old_weighted, "memory_policy" },
        { "memory_policy.mode_missing", BUNDLE, old_balancing, "memory_policy" },
        { "memory_policy.nodes_missing", BUNDLE, memory_elsewhere, "memory_policy" },
        { "rdt.missing", BUNDLE, no_resctrl, "rdt" },
        { "rdt.cache_missing", BUNDLE, no_cache_allocation, "rdt" },
        { "rdt.bandwidth_missing", BUNDLE, no_bandwidth_allocation, "rdt" },
        { "rdt.monitoring_missing", BUNDLE, no_monitoring, "rdt" },
        { "rdt.unprivileged", BUNDLE, resctrl_of_root, "rdt" },
        { "policy.untrusted", STRICT, writable_policy, "host_policy" },
        { "cgroup.not_v2", STRICT, cgroup_v1, "memory" },
        { "cgroup.not_v2", BUNDLE, cgroup_v1, "devices" },
        { "cgroup.read_only", STRICT, cgroup_read_only, "cpu" },
        { "cgroup.not_delegated", STRICT, not_delegated, "process_count" },
        { "cgroup.outside_delegation", BUNDLE, outside, "cgroup" },
        { "cgroup.controller_missing", STRICT, no_controllers, "memory" },
        { "cgroup.controller_not_delegated", STRICT, none_delegated, "cpu" },
        { "cgroup.occupied", STRICT, occupied, "process_count" },
        { "cgroup.no_kill", STRICT, no_kill, "cgroup" },
        { "cgroup.swap_unaccounted", STRICT, no_swap_control, "memory" },
        { "cgroup.swap_unaccounted", BUNDLE, no_swap_control, "memory" },
        { "cgroup.no_systemd", BUNDLE, no_systemd, "cgroup" },
        { "cgroup.systemd_controller_missing", BUNDLE, systemd_lacks, "cpu" },
        { "cgroup.devices_unprivileged", BUNDLE, devices_of_user, "devices" },
        { "quota.no_xfs", STRICT, no_xfs, "disk" },
        { "quota.not_xfs", STRICT, not_xfs, "disk" },
        { "quota.unavailable", STRICT, quota_unavailable, "disk" },
        { "quota.unavailable", STRICT, quota_mount_absent, "disk" },
        { "quota.no_prjquota", STRICT, no_prjquota, "disk" },
        { "quota.not_enforced", STRICT, not_enforced, "disk" },
        { "quota.unreadable", STRICT, unreadable, "disk" },
        { "quota.workspace_elsewhere", BUNDLE, workspace_elsewhere, "disk" },
        { "quota.workspace_is_mount", BUNDLE, workspace_is_mount, "disk" },
        { "quota.project_unknown", BUNDLE, project_unknown, "disk" },
        { "quota.no_project", BUNDLE, no_project, "disk" },
        { "quota.not_inherited", BUNDLE, not_inherited, "disk" },
        { "quota.realtime", BUNDLE, realtime, "disk" },
        { "quota.no_block_limit", BUNDLE, no_block_limit, "disk" },
        { "quota.block_limit_too_high", BUNDLE, block_limit_too_high, "disk" },
        { "quota.no_inode_limit", BUNDLE, no_inode_limit, "disk" },
        { "quota.inode_limit_too_high", BUNDLE, inode_limit_too_high, "disk" },
        { "cgroup.root_missing", BUNDLE, no_root, "cpu" },
        { "cgroup.root_foreign", BUNDLE, foreign_root, "memory" },
        { "cgroup.root_threaded", BUNDLE, threaded_root, "process_count" },
        { "cgroup.root_not_writable", BUNDLE, root_of_others, "cpu" },
        { "cgroup.root_lacks_controller", BUNDLE, root_without_memory, "memory" },
        { "cgroup.root_occupied", BUNDLE, root_with_processes, "process_count" },
        { "cgroup.root_denied", BUNDLE, root_kept_from_us, "cpu" },
        { "limits.not_configured", BUNDLE, limits_not_configured, "disk" },
};

/* debian-root with CHANGE, and what admit() says of it. */
static int judge(
        struct arena *arena, enum scope scope, void (*change)(struct subject *s), struct gap **gaps, size_t *n, struct error *err) {
        struct trial_plan plan;
        struct host host;
        struct subject subject = { .plan = &plan };

        load_host(arena, "debian-root", &host);
        subject.facts = &host.facts;
        make_plan(&plan);
        if (change)
                change(&subject);
        return admit(arena, scope == BUNDLE ? &plan.plan : NULL, &host.facts, gaps, n, err);
}

static const struct gap *find_gap(const struct gap *gaps, size_t n, const char *code, const char *limit) {
        for (size_t i = 0; i < n; i++)
                if (streq(gaps[i].code, code) && (!limit || streq(gaps[i].limit, limit)))
                        return &gaps[i];
        return NULL;
}

static void each_obstacle_gives_its_own_code_and_nothing_else_does(void **state) {
        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_arena_ struct arena arena = { 0 };
                struct error err = { 0 };
                struct gap *gaps;
                size_t n;

                assert_int_equal(judge(&arena, cases[i].scope, cases[i].change, &gaps, &n, &err), -EOPNOTSUPP);
                if (!find_gap(gaps, n, cases[i].code, cases[i].limit))
                        print_error("case %zu: no gap %s for %s, the first is %s for %s\n", i, cases[i].code, cases[i].limit, gaps[0].code,
                                gaps[0].limit);
                assert_non_null(find_gap(gaps, n, cases[i].code, cases[i].limit));
                for (size_t k = 0; k < n; k++) {
                        assert_true(strlen(gaps[k].text) > 10 && strlen(gaps[k].remedy) > 10);
                        /* One cause, one code; a user misses more than one thing, each for a reason of its own. */
                        if (!streq(gaps[k].code, cases[i].code) && !streq(gaps[k].code, "quota.unreadable") &&
                                !streq(gaps[k].code, "cgroup.devices_unprivileged"))
                                {
                                print_error("case %s also gives %s\n", cases[i].code, gaps[k].code);
                                assert_true(false);
                        }
                }
        }
}

static void every_code_has_a_case(void **state) {
        static const struct obstacles *const subjects[] = {
                &admit_namespace_obstacles, &admit_security_obstacles, &admit_scheduling_obstacles, &admit_cgroup_obstacles,
                &admit_cgroup_root_obstacles, &admit_quota_obstacles, &admit_sandbox_obstacles,
        };

        (void)state;
        for (size_t s = 0; s < ELEMENTSOF(subjects); s++) {
                for (size_t i = 0; i < subjects[s]->n; i++) {
                        size_t n = 0;

                        for (size_t k = 0; k < ELEMENTSOF(cases); k++)
                                n += streq(cases[k].code, subjects[s]->rows[i].code);
                        if (n == 0)
                                print_error("no case for %s\n", subjects[s]->rows[i].code);
                        assert_true(n > 0);
                }
        }
}

static void a_host_with_everything_runs_everything(void **state) {
        _cleanup_arena_ struct arena arena = { 0 };
        struct error err = { 0 };
        struct gap *gaps;
        size_t n;

        (void)state;
        assert_int_equal(judge(&arena, STRICT, NULL, &gaps, &n, &err), 0);
        assert_int_equal(n, 0);
        assert_int_equal(judge(&arena, BUNDLE, NULL, &gaps, &n, &err), 0);
        assert_int_equal(n, 0);
        assert_int_equal(err.code, 0);
}

static unsigned limits_missing(void (*change)(struct subject *s)) {
        _cleanup_arena_ struct arena arena = { 0 };
        struct error err = { 0 };
        struct gap *gaps;
        size_t n;
        int r = judge(&arena, BUNDLE, change, &gaps, &n, &err);

        assert_int_equal(r, err.limits ? -EOPNOTSUPP : 0);
        assert_int_equal(err.code, err.limits ? CODE_RESOURCE_LIMITS_UNSUPPORTED : 0);
        assert_int_equal(err.effect, EFFECT_NOT_APPLIED);
        return err.limits;
}

/* cpu, memory, disk, process_count, as bits. */
static void the_refusal_has_every_limit_that_is_missing(void **state) {
        (void)state;
        assert_int_equal(limits_missing(usable_root), 0);
        assert_int_equal(limits_missing(no_root), 1 | 2 | 8);
        assert_int_equal(limits_missing(root_without_memory), 2);
        assert_int_equal(limits_missing(root_with_processes), 8);
        assert_int_equal(limits_missing(root_kept_from_us), 1);
        assert_int_equal(limits_missing(limits_not_configured), 4);
}

static void nothing_is_held_against_a_host_of_which_nothing_is_known(void **state) {
        _cleanup_arena_ struct arena arena = { 0 };
        struct facts_facts facts = { 0 };
        struct error err = { 0 };
        struct trial_plan plan;
        struct gap *gaps;
        size_t n;

        (void)state;
        make_plan(&plan);
        assert_int_equal(admit(&arena, NULL, &facts, &gaps, &n, &err), 0);
        assert_int_equal(admit(&arena, &plan.plan, &facts, &gaps, &n, &err), 0);
}

static void a_missing_limit_has_the_code_that_hosts_look_for(void **state) {
        _cleanup_arena_ struct arena arena = { 0 };
        struct error err = { 0 };
        struct gap *gaps;
        size_t n;

        (void)state;
        judge(&arena, STRICT, no_prjquota, &gaps, &n, &err);
        assert_int_equal(err.code, CODE_RESOURCE_LIMITS_UNSUPPORTED);
        assert_string_equal(err.where, "disk");
        assert_non_null(strstr(err.text, "quota.no_prjquota: "));
        judge(&arena, STRICT, covered_proc, &gaps, &n, &err);
        assert_int_equal(err.code, CODE_CAPABILITY_UNSUPPORTED);
        assert_string_equal(err.where, "proc");
}

CHANGE(mount_label_without_selinux, s->plan->rootfs.mount_label = "system_u:object_r:container_file_t:s0";)

static void an_error_names_the_field_that_asks(void **state) {
        static const struct { void (*change)(struct subject *s); const char *field; } rows[] = {
                { profile_without_apparmor, "process.apparmorProfile" }, { label_without_selinux, "process.selinuxLabel" },
                { mount_label_without_selinux, "linux.mountLabel" }, { no_resctrl, "linux.intelRdt" },
                { fifo_of_user, "process.scheduler" }, { realtime_io_of_user, "process.ioPriority" },
                { memory_elsewhere, "linux.memoryPolicy" }, { old_listener_flag, "linux.seccomp" }, { no_seccomp_for_policy, "sage.sandbox" }, { not_granted, "linux.uidMappings" },
                { idmapped_by_user, "mounts" }, { no_project, "sage.sandbox.resources.disk_mb" },
        };

        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_arena_ struct arena arena = { 0 };
                struct error err = { 0 };
                struct gap *gaps;
                size_t n;

                assert_int_equal(judge(&arena, BUNDLE, rows[i].change, &gaps, &n, &err), -EOPNOTSUPP);
                assert_string_equal(err.where, rows[i].field);
        }
}

CHANGE(cgroups_disabled_on_v1, cgroup_v1(s); s->plan->cgroup.manager = PLAN_CGROUP_MANAGER_DISABLED;)
CHANGE(root_under_apparmor, s->facts->userns->apparmor_restricted = true; s->facts->userns->unprivileged_clone = false;)
CHANGE(unconfined_profile, s->plan->process.apparmor_profile = "unconfined"; s->facts->kernel->apparmor = false;)
CHANGE(settings_that_the_trial_refutes, is_user(s); s->facts->userns->apparmor_restricted = true; s->facts->userns->possible = false;
       user_without_userns(s); s->plan->namespaces.create |= CLONE_NEWUSER;)
CHANGE(new_enough_tmpfs, idmaps_a_mount(s); s->facts->kernel->minor = 3; s->facts->kernel->major = 6;)
CHANGE(covered_proc_without_userns, covered_proc(s);)
CHANGE(enough_is_enabled, s->facts->delegation->occupied = true;)
CHANGE(swap_is_not_limited, no_swap_control(s); s->plan->cgroup.n_writes = 0;)
CHANGE(kernel_without_swap, s->facts->delegation->swap = FACTS_SWAP_CONTROL_NO_SWAP;)
CHANGE(own_id_only, user_maps_ids(s); s->plan->map.outside = 1000; s->plan->map.count = 1;)
CHANGE(granted_ids, user_maps_with_helpers(s);
       static struct facts_id_span span = { .start = 100000, .count = 65536 };
       s->facts->subids->uids = s->facts->subids->gids = &span; s->facts->subids->n_uids = s->facts->subids->n_gids = 1;)
CHANGE(below_the_delegated, s->facts->cgroup->own = "/u/s/app/host"; s->facts->cgroup->root = "/u/s"; s->plan->cgroup.path = "/u/s/box";)
CHANGE(sibling_with_a_longer_name, s->facts->cgroup->own = "/u/s/host"; s->facts->cgroup->root = "/u/s";
        s->plan->cgroup.path = "/u/s/hosting";)
CHANGE(below_our_own, s->facts->cgroup->own = "/u/s"; s->facts->cgroup->root = "/u/s"; s->plan->cgroup.path = "/u/s/box";)
CHANGE(fifo_within_the_limit, user_schedules(s, SCHED_FIFO, 10, 0);)
CHANGE(nice_within_the_limit, user_schedules(s, SCHED_OTHER, 0, 0); s->plan->scheduler.nice = s->facts->priorities->nice = -3;)
CHANGE(nice_that_idle_does_not_look_at, user_schedules(s, SCHED_IDLE, 0, 0);)
CHANGE(idle_io_of_user, user_io(s, 3);)
CHANGE(deadline_of_root, struct facts_identity root = *s->facts->identity; user_schedules(s, 6, 0, 0); *s->facts->identity = root;
       s->plan->namespaces.create &= ~(uint64_t)CLONE_NEWUSER;)
CHANGE(memory_on_nodes_there_are, places_memory(s, 2);)
CHANGE(memory_on_relative_nodes, memory_elsewhere(s); s->plan->memory_policy.mode |= 1 << 14;)
CHANGE(memory_anywhere, memory_elsewhere(s); s->plan->memory_policy.n_nodes = 0;)
CHANGE(new_balancing, places_memory(s, 5 | 1 << 13); on_kernel(s, 6, 9);)
CHANGE(preferred_many, places_memory(s, 5); on_kernel(s, 5, 15);)
CHANGE(all_of_rdt, asks_for_rdt(s);)
CHANGE(class_alone, asks_for_rdt(s); s->facts->rdt->cache = s->facts->rdt->bandwidth = s->facts->rdt->monitoring = false;
       s->plan->rdt = (struct plan_rdt){ .group = "gold" };)
CHANGE(second_file_system, static struct facts_quota two[2]; two[0] = two[1] = *s->facts->quotas; two[0].accounting = false;
       s->facts->quotas = two; s->facts->n_quotas = 2;)

static void what_looks_like_an_obstacle_and_is_none_passes(void **state) {
        static const struct { enum scope scope; void (*change)(struct subject *s); } fine[] = {
                { BUNDLE, cgroups_disabled_on_v1 }, { STRICT, root_under_apparmor }, { BUNDLE, unconfined_profile },
                { BUNDLE, settings_that_the_trial_refutes }, { BUNDLE, new_enough_tmpfs }, { BUNDLE, covered_proc_without_userns },
                { STRICT, enough_is_enabled }, { BUNDLE, swap_is_not_limited }, { STRICT, kernel_without_swap }, { BUNDLE, own_id_only },
                { BUNDLE, granted_ids }, { BUNDLE, below_the_delegated }, { BUNDLE, sibling_with_a_longer_name }, { BUNDLE, below_our_own },
                { STRICT, second_file_system }, { BUNDLE, fifo_within_the_limit }, { BUNDLE, nice_within_the_limit },
                { BUNDLE, nice_that_idle_does_not_look_at }, { BUNDLE, idle_io_of_user }, { BUNDLE, deadline_of_root },
                { BUNDLE, memory_on_nodes_there_are }, { BUNDLE, memory_on_relative_nodes }, { BUNDLE, memory_anywhere },
                { BUNDLE, new_balancing }, { BUNDLE, preferred_many },
                { BUNDLE, all_of_rdt }, { BUNDLE, class_alone },
                { BUNDLE, limits_disk }, { BUNDLE, less_than_was_asked_for }, { BUNDLE, sampling_that_is_allowed },
        };

        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(fine); i++) {
                _cleanup_arena_ struct arena arena = { 0 };
                struct error err = { 0 };
                struct gap *gaps;
                size_t n;
                int r = judge(&arena, fine[i].scope, fine[i].change, &gaps, &n, &err);

                if (r < 0)
                        print_error("case %zu: %s: %s\n", i, err.where, err.text);
                assert_int_equal(r, 0);
        }
}

static void a_path_beside_the_delegated_cgroup_is_outside(void **state) {
        static const struct { const char *own, *root, *path; bool outside; } paths[] = {
                { "/a/b", "/a/b", "/a/b/c", false }, { "/a/b", "/a/b", "/a/bc", true }, { "/a/b/x", "/a/b", "/a/c", true },
                { "/a/b/x", "/a/b", "/a/b/y", false }, { "/a/b/x", "/", "/c", false }, { "/a/b/x", "/a/b", "/", true },
                { "/a/b/x", "/a/b", "/a/b", false },
        };

        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(paths); i++) {
                _cleanup_arena_ struct arena arena = { 0 };
                struct error err = { 0 };
                struct trial_plan plan;
                struct host host;
                struct gap *gaps;
                size_t n;

                load_host(&arena, "debian-root", &host);
                make_plan(&plan);
                host.facts.cgroup->own = paths[i].own;
                host.facts.cgroup->root = paths[i].root;
                plan.cgroup.path = paths[i].path;
                admit(&arena, &plan.plan, &host.facts, &gaps, &n, &err);
                if (!!find_gap(gaps, n, "cgroup.outside_delegation", NULL) != paths[i].outside)
                        print_error("case %zu\n", i);
                assert_int_equal(!!find_gap(gaps, n, "cgroup.outside_delegation", NULL), paths[i].outside);
        }
}

static void a_launch_needs_no_more_facts_than_its_plan_asks_for(void **state) {
        struct trial_plan plan;

        (void)state;
        make_plan(&plan);
        plan.cgroup.n_controllers = 0;
        assert_int_equal(admit_needs(&plan.plan), FACTS_IDENTITY | FACTS_CGROUP);
        plan.cgroup.n_controllers = 1;
        assert_int_equal(admit_needs(&plan.plan), FACTS_IDENTITY | FACTS_CGROUP | FACTS_CONTROLLERS);
        plan.cgroup.manager = PLAN_CGROUP_MANAGER_DISABLED;
        assert_int_equal(admit_needs(&plan.plan), FACTS_IDENTITY);
        plan.process.apparmor_profile = "p";
        assert_int_equal(admit_needs(&plan.plan), FACTS_IDENTITY | FACTS_KERNEL);
        plan.namespaces.create |= CLONE_NEWUSER;
        assert_int_equal(admit_needs(&plan.plan), FACTS_IDENTITY | FACTS_KERNEL | FACTS_USERNS);
        plan.ids.use_helpers = true;
        assert_true(admit_needs(&plan.plan) & FACTS_SUBIDS);
        assert_false(admit_needs(&plan.plan) & (FACTS_PRIORITIES | FACTS_NUMA | FACTS_RDT));
        plan.plan.rdt = &plan.rdt;
        assert_true(admit_needs(&plan.plan) & FACTS_RDT);
        plan.plan.memory_policy = &plan.memory_policy;
        assert_true(admit_needs(&plan.plan) & FACTS_NUMA);
        plan.process.scheduler = &plan.scheduler;
        assert_true(admit_needs(&plan.plan) & FACTS_PRIORITIES);
        assert_false(admit_needs(&plan.plan) & (FACTS_TRIAL | FACTS_PROC | FACTS_QUOTA));
        assert_int_equal(admit_needs(NULL), FACTS_ALL);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(each_obstacle_gives_its_own_code_and_nothing_else_does),
                cmocka_unit_test(every_code_has_a_case),
                cmocka_unit_test(a_host_with_everything_runs_everything),
                cmocka_unit_test(the_refusal_has_every_limit_that_is_missing),
                cmocka_unit_test(nothing_is_held_against_a_host_of_which_nothing_is_known),
                cmocka_unit_test(a_missing_limit_has_the_code_that_hosts_look_for),
                cmocka_unit_test(an_error_names_the_field_that_asks),
                cmocka_unit_test(what_looks_like_an_obstacle_and_is_none_passes),
                cmocka_unit_test(a_path_beside_the_delegated_cgroup_is_outside),
                cmocka_unit_test(a_launch_needs_no_more_facts_than_its_plan_asks_for),
        };

        return RUN_TESTS(tests);
}
