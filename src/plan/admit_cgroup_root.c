/* Obstacles at the cgroup that an administrator has set aside for sandboxes (linux_cgroup_root). */
#define _GNU_SOURCE
#include "plan/admit_rows.h"

#include "base/str.h"
#include "facts/facts.h"

static const char *bad_state(const struct question *q, const struct obstacle *row, enum item item) {
        const struct facts_cgroup_root *root = q->facts->cgroup_root;

        (void)item;
        if (!root || root->state != row->detail)
                return NULL;
        switch (root->state) {
        case FACTS_CGROUP_ROOT_STATE_MISSING:
                return arena_printf(q->arena, "linux_cgroup_root: there is no %s", root->path);
        case FACTS_CGROUP_ROOT_STATE_FOREIGN:
                return arena_printf(
                        q->arena, "linux_cgroup_root: %s is no cgroup of the hierarchy at %s", root->path, facts_cgroup_mount());
        default:
                return arena_printf(q->arena, "linux_cgroup_root: %s is a threaded cgroup, below which no sandbox can live", root->path);
        }
}

static const char *not_writable(const struct question *q, const struct obstacle *row, enum item item) {
        const struct facts_cgroup_root *root = q->facts->cgroup_root;

        (void)row, (void)item;
        if (!root || root->state != FACTS_CGROUP_ROOT_STATE_USABLE || root->writable)
                return NULL;
        return arena_printf(q->arena, "linux_cgroup_root: we may not make cgroups in %s", root->path);
}

static const char *lacks(const struct question *q, const struct obstacle *row, enum item item) {
        const struct facts_cgroup_root *root = q->facts->cgroup_root;
        const char *controller = demand_controller(item);

        for (size_t i = 0; root && controller && i < root->n_lacks; i++) {
                const struct facts_controller_lack *lack = &root->lacks[i];

                if (lack->why != row->detail || !streq(lack->controller, controller))
                        continue;
                switch (lack->why) {
                case FACTS_CONTROLLER_OBSTACLE_ABSENT:
                        return arena_printf(q->arena, "%s does not have the controller %s", lack->at, controller);
                case FACTS_CONTROLLER_OBSTACLE_OCCUPIED:
                        return arena_printf(
                                q->arena, "processes live in %s itself, so that it cannot hand on the controller %s", lack->at, controller);
                default:
                        return arena_printf(q->arena, "we may not switch on the controller %s in %s", controller, lack->at);
                }
        }
        return NULL;
}

#define LIMITS (ITEM_BIT(ITEM_CPU) | ITEM_BIT(ITEM_MEMORY) | ITEM_BIT(ITEM_PROCESS_COUNT))

static const struct obstacle rows[] = {
        { "cgroup.root_missing", LIMITS, bad_state, FACTS_CGROUP_ROOT_STATE_MISSING,
                "make it (sage-host-setup does), or name one that is there" },
        { "cgroup.root_foreign", LIMITS, bad_state, FACTS_CGROUP_ROOT_STATE_FOREIGN, "name a cgroup below the mount of cgroup v2" },
        { "cgroup.root_threaded", LIMITS, bad_state, FACTS_CGROUP_ROOT_STATE_THREADED, "name a cgroup whose cgroup.type is domain" },
        { "cgroup.root_not_writable", LIMITS, not_writable, 0, "run as root of the host, or delegate it to this user" },
        { "cgroup.root_lacks_controller", LIMITS, lacks, FACTS_CONTROLLER_OBSTACLE_ABSENT,
                "install a kernel that has it, and let no cgroup v1 hierarchy hold it (cgroup_no_v1=all)" },
        { "cgroup.root_occupied", LIMITS, lacks, FACTS_CONTROLLER_OBSTACLE_OCCUPIED,
                "move the processes into a cgroup below it (systemd: DelegateSubgroup=host)" },
        { "cgroup.root_denied", LIMITS, lacks, FACTS_CONTROLLER_OBSTACLE_DENIED,
                "run as root of the host, or have the administrator write +cpu +memory +pids to its cgroup.subtree_control" },
};

const struct obstacles admit_cgroup_root_obstacles = { rows, ELEMENTSOF(rows) };
