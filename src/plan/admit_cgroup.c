/* Obstacles to cgroups and to the limits they enforce. Documentation/admin-guide/cgroup-v2.rst, "Delegation". */
#define _GNU_SOURCE
#include "plan/admit_rows.h"

#include <linux/capability.h>
#include <string.h>

#include "base/str.h"
#include "facts/facts.h"

static bool is_v2(const struct question *q) {
        return q->facts->cgroup && q->facts->cgroup->version == FACTS_CGROUP_VERSION_V2;
}

/* systemd makes the cgroup and puts the process there, so our own rights do not matter. */
static bool by_systemd(const struct question *q) {
        return q->demand.plan && q->demand.plan->cgroup->manager == PLAN_CGROUP_MANAGER_SYSTEMD;
}

static const char *not_v2(const struct question *q, const struct obstacle *row, enum item item) {
        static const char *const found[] = {
                [FACTS_CGROUP_VERSION_NONE] = "no cgroup file system",
                [FACTS_CGROUP_VERSION_V1] = "cgroup v1",
                [FACTS_CGROUP_VERSION_HYBRID] = "cgroup v1 with a v2 hierarchy beside it (hybrid)",
        };

        (void)row, (void)item;
        if (!q->facts->cgroup || is_v2(q))
                return NULL;
        return arena_printf(q->arena, "expected cgroup v2 at %s, found %s", facts_cgroup_mount(), found[q->facts->cgroup->version]);
}

/* Nothing of the tree is ours to write: as root because it is mounted read-only, as a user because nobody handed it over. */
static const char *not_writable(const struct question *q, const struct obstacle *row, enum item item) {
        const struct facts_identity *identity = q->facts->identity;
        bool root = identity && identity->euid == 0 && identity->initial_userns;

        (void)item;
        if (!is_v2(q) || by_systemd(q) || q->facts->cgroup->writable || root != row->detail)
                return NULL;
        if (root)
                return arena_printf(q->arena, "%s is read-only here, as in an outer container", facts_cgroup_mount());
        return arena_printf(q->arena, "our cgroup %s was not delegated to uid %u: its cgroup.procs is not writable", q->facts->cgroup->own,
                identity ? identity->euid : 0);
}

/* Length of the deepest common ancestor of two cgroups, without the slash behind it; 0 is the root. */
static size_t common_length(const char *a, const char *b) {
        size_t last = 0, i = 0;

        for (; a[i] && a[i] == b[i]; i++)
                if (a[i] == '/')
                        last = i;
        if ((a[i] == '\0' || a[i] == '/') && (b[i] == '\0' || b[i] == '/'))
                last = i;
        return last;
}

/* A process enters a cgroup only if cgroup.procs of the common ancestor of where it is and where it goes is writable: a subtree that
 * was delegated to a user is of no use to who stands outside of it. */
static const char *outside_delegation(const struct question *q, const struct obstacle *row, enum item item) {
        const struct facts_cgroup *cgroup = q->facts->cgroup;
        const struct plan_plan *plan = q->demand.plan;
        const char *common;

        (void)row, (void)item;
        if (!is_v2(q) || by_systemd(q) || !cgroup->root || !plan || !plan->cgroup->path)
                return NULL;
        common = arena_strndup(q->arena, cgroup->own, common_length(cgroup->own, plan->cgroup->path));
        if (path_is_below(*common ? common : "/", cgroup->root))
                return NULL;
        return arena_printf(
                q->arena, "we are in %s, and may move processes only below %s, not into %s", cgroup->own, cgroup->root, plan->cgroup->path);
}

/* detail 1: the whole hierarchy lacks it; 0: it was not handed down to the delegated cgroup. */
static const char *controller_missing(const struct question *q, const struct obstacle *row, enum item item) {
        const struct facts_cgroup *cgroup = q->facts->cgroup;
        const char *controller = demand_controller(item);

        if (!is_v2(q) || by_systemd(q) || !cgroup->root || !cgroup->controllers || streq(cgroup->root, "/") != row->detail)
                return NULL;
        if (admit_listed(controller, cgroup->controllers, cgroup->n_controllers))
                return NULL;
        return arena_printf(q->arena, "expected the controller %s in cgroup.controllers of %s, found %s", controller, cgroup->root,
                admit_list(q->arena, cgroup->controllers, cgroup->n_controllers));
}

/* "No internal process constraint": while processes live in a cgroup, no controller can be switched on for its children. */
static const char *occupied(const struct question *q, const struct obstacle *row, enum item item) {
        const struct facts_cgroup *cgroup = q->facts->cgroup;
        const struct facts_delegation *delegation = q->facts->delegation;
        const char *controller = demand_controller(item);

        (void)row;
        if (!is_v2(q) || by_systemd(q) || !cgroup->root || !delegation || !delegation->occupied)
                return NULL;
        if (!admit_listed(controller, cgroup->controllers, cgroup->n_controllers) ||
                admit_listed(controller, delegation->enabled, delegation->n_enabled))
                return NULL;
        return arena_printf(q->arena, "processes live in %s itself, so its controller %s cannot be enabled for cgroups below", cgroup->root,
                controller);
}

static const char *no_kill(const struct question *q, const struct obstacle *row, enum item item) {
        (void)row, (void)item;
        return is_v2(q) && q->facts->delegation && !q->facts->delegation->kill ? "cgroups have no cgroup.kill (Linux 5.14)" : NULL;
}

static bool limits_swap(const struct plan_plan *plan) {
        for (size_t i = 0; plan && i < plan->cgroup->n_writes; i++)
                if (streq(plan->cgroup->writes[i].file, "memory.swap.max"))
                        return true;
        return !plan;
}

static const char *swap_unaccounted(const struct question *q, const struct obstacle *row, enum item item) {
        const struct facts_delegation *delegation = q->facts->delegation;

        (void)row, (void)item;
        if (!is_v2(q) || !delegation || delegation->swap != FACTS_SWAP_CONTROL_UNACCOUNTED || !limits_swap(q->demand.plan))
                return NULL;
        return "cgroups have no memory.swap.max, so memory can leave the limit by way of swap";
}

static const char *no_systemd(const struct question *q, const struct obstacle *row, enum item item) {
        const struct facts_delegation *delegation = q->facts->delegation;

        (void)row, (void)item;
        return by_systemd(q) && is_v2(q) && delegation && !delegation->systemd ? "systemd is not this host's init (no /run/systemd/system)"
                                                                               : NULL;
}

static const char *systemd_lacks(const struct question *q, const struct obstacle *row, enum item item) {
        const struct facts_delegation *delegation = q->facts->delegation;

        (void)row;
        if (!by_systemd(q) || !is_v2(q) || !delegation || !delegation->systemd)
                return NULL;
        if (admit_listed(demand_controller(item), delegation->systemd_controllers, delegation->n_systemd_controllers))
                return NULL;
        return arena_printf(q->arena, "expected systemd to have the controller %s, found %s", demand_controller(item),
                admit_list(q->arena, delegation->systemd_controllers, delegation->n_systemd_controllers));
}

/* bpf(2), BPF_PROG_TYPE_CGROUP_DEVICE: CAP_BPF with CAP_NET_ADMIN, or CAP_SYS_ADMIN, on the host; a user namespace gives none. */
static const char *devices_unprivileged(const struct question *q, const struct obstacle *row, enum item item) {
        const struct facts_identity *identity = q->facts->identity;

        (void)row, (void)item;
        if (!identity || facts_capable(identity, CAP_SYS_ADMIN) ||
                (facts_capable(identity, CAP_BPF) && facts_capable(identity, CAP_NET_ADMIN)))
                return NULL;
        return arena_printf(q->arena, "device rules need CAP_SYS_ADMIN on the host; uid %u does not have it", identity->euid);
}

#define CONTROLLED \
        (ITEM_BIT(ITEM_CPU) | ITEM_BIT(ITEM_MEMORY) | ITEM_BIT(ITEM_PROCESS_COUNT) | ITEM_BIT(ITEM_IO) | ITEM_BIT(ITEM_CPUSET) | \
                ITEM_BIT(ITEM_HUGETLB) | ITEM_BIT(ITEM_RDMA) | ITEM_BIT(ITEM_MISC))
#define ALL (ITEM_BIT(ITEM_CGROUP) | ITEM_BIT(ITEM_DEVICES) | CONTROLLED)

static const struct obstacle rows[] = {
        { "cgroup.not_v2", ALL, not_v2, 0,
                "boot with systemd.unified_cgroup_hierarchy=1, or use --cgroup-manager disabled where no limits are asked for" },
        { "cgroup.read_only", ALL, not_writable, true,
                "start the outer container with a writable cgroup file system (docker: --privileged --cgroupns private)" },
        { "cgroup.not_delegated", ALL, not_writable, false,
                "run in a delegated cgroup (systemd-run --user --scope --property=Delegate=yes; a login session's own is never delegated) or as "
                "root of the host, or take the limits out of the bundle: without any, no cgroup is needed" },
        { "cgroup.outside_delegation", ITEM_BIT(ITEM_CGROUP), outside_delegation, 0,
                "start this process inside the delegated cgroup, in a leaf of its own (systemd: Delegate=yes, DelegateSubgroup=host)" },
        { "cgroup.controller_missing", CONTROLLED, controller_missing, true,
                "install a kernel that has it, and let no cgroup v1 hierarchy hold it (cgroup_no_v1=all)" },
        { "cgroup.controller_not_delegated", CONTROLLED, controller_missing, false,
                "delegate it: Delegate=cpu cpuset io memory pids in a drop-in of the unit (for users: of user@.service)" },
        { "cgroup.occupied", CONTROLLED, occupied, 0, "move the processes into a cgroup below it (systemd: DelegateSubgroup=host)" },
        { "cgroup.no_kill", ITEM_BIT(ITEM_CGROUP), no_kill, 0, "install a kernel of 5.14 or newer" },
        { "cgroup.swap_unaccounted", ITEM_BIT(ITEM_MEMORY), swap_unaccounted, 0,
                "boot with swapaccount=1 and without cgroup.memory=noswap" },
        { "cgroup.no_systemd", ALL, no_systemd, 0, "use --cgroup-manager cgroupfs" },
        { "cgroup.systemd_controller_missing", CONTROLLED, systemd_lacks, 0,
                "delegate it: Delegate=cpu cpuset io memory pids in a drop-in of user@.service" },
        { "cgroup.devices_unprivileged", ITEM_BIT(ITEM_DEVICES), devices_unprivileged, 0,
                "run as root of the host, or take linux.resources.devices out of the bundle" },
};

const struct obstacles admit_cgroup_obstacles = { rows, ELEMENTSOF(rows) };
