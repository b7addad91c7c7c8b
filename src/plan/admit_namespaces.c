/* Obstacles to namespaces: kernel, privilege, what an administrator or an outer container forbids, id maps, proc. */
#define _GNU_SOURCE
#include "plan/admit_rows.h"

#include <errno.h>
#include <linux/capability.h>
#include <sched.h>
#include <string.h>

#include "base/str.h"
#include "facts/facts.h"

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x00000080
#endif

static bool holds(const struct facts_identity *identity, unsigned capability) {
        return identity->capabilities >> capability & 1;
}

static const char *kernel_too_old(const struct question *q, const struct obstacle *row, enum item item) {
        const struct facts_kernel *kernel = q->facts->kernel;

        (void)row, (void)item;
        if (!kernel || !admit_kernel_before(kernel, 5, 14))
                return NULL;
        return arena_printf(q->arena, "expected Linux 5.14 or newer, found %s", kernel->release);
}

/* namespaces(7) */
static const struct {
        uint64_t flag;
        const char *name;
} kinds[] = {
        { CLONE_NEWUSER, "user" },
        { CLONE_NEWNS, "mnt" },
        { CLONE_NEWPID, "pid" },
        { CLONE_NEWNET, "net" },
        { CLONE_NEWIPC, "ipc" },
        { CLONE_NEWUTS, "uts" },
        { CLONE_NEWTIME, "time" },
        { CLONE_NEWCGROUP, "cgroup" },
};

static const char *kind_missing(const struct question *q, const struct obstacle *row, enum item item) {
        const struct facts_features *features = q->facts->features;
        const char *missing[ELEMENTSOF(kinds)];
        size_t n = 0;

        (void)row, (void)item;
        for (size_t i = 0; features && i < ELEMENTSOF(kinds); i++)
                if ((q->demand.namespaces & kinds[i].flag) && !admit_listed(kinds[i].name, features->namespaces, features->n_namespaces))
                        missing[n++] = kinds[i].name;
        return n ? arena_printf(q->arena, "this kernel has no namespaces of these kinds: %s", admit_list(q->arena, missing, n)) : NULL;
}

static bool joins_user_namespace(const struct plan_plan *plan) {
        for (size_t i = 0; plan && i < plan->namespaces->n_join; i++)
                if (plan->namespaces->join[i].flag == CLONE_NEWUSER)
                        return true;
        return false;
}

/* clone(2): every kind but the user namespace needs CAP_SYS_ADMIN, which a new user namespace gives. */
static const char *not_privileged(const struct question *q, const struct obstacle *row, enum item item) {
        const struct facts_identity *identity = q->facts->identity;

        (void)row, (void)item;
        if (!identity || holds(identity, CAP_SYS_ADMIN) || (q->demand.namespaces & CLONE_NEWUSER) || joins_user_namespace(q->demand.plan))
                return NULL;
        return arena_printf(q->arena, "expected CAP_SYS_ADMIN, as no user namespace is made; uid %u does not have it", identity->euid);
}

/* A root host becomes the execution identity (setresuid, setgroups). */
static const char *cannot_become(const struct question *q, const struct obstacle *row, enum item item) {
        const struct facts_identity *identity = q->facts->identity;

        (void)row, (void)item;
        if (!identity || identity->euid != 0 || (holds(identity, CAP_SETUID) && holds(identity, CAP_SETGID)))
                return NULL;
        return "root runs sandboxes as another identity, and this root has no CAP_SETUID or CAP_SETGID";
}

/* ---- user namespaces ---- */

enum cause {
        CAUSE_NONE,
        CAUSE_NOT_BUILT,
        CAUSE_MAX_ZERO,
        CAUSE_SWITCHED_OFF,
        CAUSE_APPARMOR,
        CAUSE_EXHAUSTED,
        CAUSE_FILTER,
        CAUSE_REFUSED
};

static bool trial_failed(const struct facts_trial *trial) {
        return (trial->has & FACTS_TRIAL_HAS_FAILED) && trial->failed != FACTS_TRIAL_STEP_PROC;
}

/* Why no user namespace can be made. A trial decides whether (what settings say is only a guess), the settings tell why. */
static enum cause userns_cause(const struct facts_facts *facts) {
        const struct facts_userns *userns = facts->userns;
        const struct facts_trial *trial = facts->trial;
        bool privileged = facts->identity && facts_capable(facts->identity, CAP_SYS_ADMIN);

        if (!userns || !(trial ? trial_failed(trial) : !userns->possible))
                return CAUSE_NONE;
        if (!(userns->has & FACTS_USERNS_HAS_MAX))
                return CAUSE_NOT_BUILT;
        if (userns->max == 0)
                return CAUSE_MAX_ZERO;
        if (!privileged && (userns->has & FACTS_USERNS_HAS_UNPRIVILEGED_CLONE) && !userns->unprivileged_clone)
                return CAUSE_SWITCHED_OFF;
        if (!privileged && userns->apparmor_restricted)
                return CAUSE_APPARMOR;
        if (trial && (trial->errnum == ENOSPC || trial->errnum == EUSERS))
                return CAUSE_EXHAUSTED;
        return userns->filtered ? CAUSE_FILTER : CAUSE_REFUSED;
}

static const char *trial_text(struct arena *arena, const struct facts_trial *trial) {
        if (!trial)
                return "no user namespace can be made";
        return arena_printf(arena, "a trial to make one failed in step \"%s\" (%s)", spec_enum_name(&facts_trial_step_enum, trial->failed),
                strerror(trial->errnum));
}

static const char *userns_forbidden(const struct question *q, const struct obstacle *row, enum item item) {
        const struct facts_userns *userns = q->facts->userns;
        const struct facts_trial *trial = q->facts->trial;
        enum cause cause = userns_cause(q->facts);

        (void)item;
        if (cause != row->detail)
                return NULL;
        switch (cause) {
        case CAUSE_NOT_BUILT:
                return "this kernel has no user namespaces";
        case CAUSE_MAX_ZERO:
                return "user.max_user_namespaces is 0";
        case CAUSE_SWITCHED_OFF:
                return "kernel.unprivileged_userns_clone is 0, and we have no CAP_SYS_ADMIN";
        case CAUSE_APPARMOR:
                return arena_printf(q->arena,
                        "kernel.apparmor_restrict_unprivileged_userns is 1, and the AppArmor profile \"%s\" does not allow user namespaces",
                        userns->confinement ? userns->confinement : "unconfined");
        case CAUSE_EXHAUSTED:
                return arena_printf(q->arena, "all %llu user namespaces of this user are in use, or they nest too deep",
                        (unsigned long long)userns->max);
        case CAUSE_FILTER:
                return arena_printf(q->arena, "%s; this process runs under a seccomp filter, so an outer container's may be the reason",
                        trial_text(q->arena, trial));
        default:
                return trial_text(q->arena, trial);
        }
}

/* ---- id maps ---- */

static bool granted(const struct plan_id_range *range, uint32_t own, const struct facts_id_span *spans, size_t n) {
        if (range->outside == own && range->count == 1)
                return true;
        for (size_t i = 0; i < n; i++)
                if (range->outside >= spans[i].start &&
                        (uint64_t)range->outside + range->count <= (uint64_t)spans[i].start + spans[i].count)
                        return true;
        return false;
}

static const struct plan_id_range *first_foreign(
        const struct plan_id_range *ranges, size_t n_ranges, uint32_t own, const struct facts_id_span *spans, size_t n) {
        for (size_t i = 0; i < n_ranges; i++)
                if (!granted(&ranges[i], own, spans, n))
                        return &ranges[i];
        return NULL;
}

static const char *ids_not_granted(const struct question *q, const struct obstacle *row, enum item item) {
        const struct facts_identity *identity = q->facts->identity;
        const struct facts_subids *subids = q->facts->subids;
        const struct plan_ids *ids = q->demand.plan ? q->demand.plan->ids : NULL;
        const struct plan_id_range *range;
        const char *file = "/etc/subuid";

        (void)row, (void)item;
        if (!ids || !ids->use_helpers || !subids || !identity)
                return NULL;
        range = first_foreign(ids->uid_map, ids->n_uid_map, identity->euid, subids->uids, subids->n_uids);
        if (!range) {
                range = first_foreign(ids->gid_map, ids->n_gid_map, identity->egid, subids->gids, subids->n_gids);
                file = "/etc/subgid";
        }
        return range ? arena_printf(q->arena, "%s does not grant ids %u to %llu to uid %u", file, range->outside,
                               (unsigned long long)range->outside + range->count - 1, identity->euid)
                     : NULL;
}

static const char *no_id_helpers(const struct question *q, const struct obstacle *row, enum item item) {
        const struct plan_ids *ids = q->demand.plan ? q->demand.plan->ids : NULL;

        (void)row, (void)item;
        if (!ids || !ids->use_helpers || !q->facts->subids || q->facts->subids->helpers)
                return NULL;
        return "expected /usr/bin/newuidmap and /usr/bin/newgidmap, which write maps of more than one's own id; found neither or one";
}

/* user_namespaces(7), "Writing to the uid_map": other ids than one's own need CAP_SETUID in the parent namespace. */
static const char *map_not_permitted(const struct question *q, const struct obstacle *row, enum item item) {
        const struct facts_identity *identity = q->facts->identity;
        const struct plan_ids *ids = q->demand.plan ? q->demand.plan->ids : NULL;
        bool uids, gids;

        (void)row, (void)item;
        if (!ids || ids->use_helpers || !identity)
                return NULL;
        uids = !holds(identity, CAP_SETUID) && first_foreign(ids->uid_map, ids->n_uid_map, identity->euid, NULL, 0);
        gids = !holds(identity, CAP_SETGID) && first_foreign(ids->gid_map, ids->n_gid_map, identity->egid, NULL, 0);
        return uids || gids
                ? arena_printf(q->arena, "the map holds other ids than uid %u and gid %u, and we have no CAP_SETUID and CAP_SETGID",
                          identity->euid, identity->egid)
                : NULL;
}

/* ---- proc ---- */

static bool less_privileged(const struct question *q) {
        const struct facts_identity *identity = q->facts->identity;

        return (q->demand.namespaces & CLONE_NEWUSER) || joins_user_namespace(q->demand.plan) || (identity && !identity->initial_userns);
}

static const char *proc_covered(const struct question *q, const struct obstacle *row, enum item item) {
        const struct facts_proc *proc = q->facts->proc;

        (void)row, (void)item;
        if (!proc || proc->visible || !less_privileged(q))
                return NULL;
        return arena_printf(q->arena, "parts of /proc are covered (%s), so the kernel lets no user namespace mount a proc of its own",
                admit_list(q->arena, proc->covers, proc->n_covers));
}

static const char *proc_refused(const struct question *q, const struct obstacle *row, enum item item) {
        const struct facts_trial *trial = q->facts->trial;
        const struct facts_proc *proc = q->facts->proc;

        (void)row, (void)item;
        if (!less_privileged(q) || !trial || !(trial->has & FACTS_TRIAL_HAS_FAILED) || trial->failed != FACTS_TRIAL_STEP_PROC ||
                (proc && !proc->visible))
                return NULL;
        return arena_printf(q->arena, "a trial mount of proc in a new user namespace failed (%s)", strerror(trial->errnum));
}

#define USERNS ITEM_BIT(ITEM_USER_NAMESPACE)

static const struct obstacle rows[] = {
        { "kernel.too_old", ITEM_BIT(ITEM_KERNEL), kernel_too_old, 0, "install a kernel of 5.14 or newer" },
        { "namespace.missing", ITEM_BIT(ITEM_NAMESPACES), kind_missing, 0, "install a kernel that is built with them" },
        { "namespace.not_privileged", ITEM_BIT(ITEM_NAMESPACES), not_privileged, 0,
                "run as root of the host, or ask for a user namespace in the bundle (`spec --rootless`)" },
        { "identity.cannot_become", ITEM_BIT(ITEM_IDENTITY), cannot_become, 0,
                "give the outer container CAP_SETUID and CAP_SETGID, or run as the execution identity" },
        { "userns.not_built", USERNS, userns_forbidden, CAUSE_NOT_BUILT, "install a kernel with CONFIG_USER_NS" },
        { "userns.max_user_namespaces", USERNS, userns_forbidden, CAUSE_MAX_ZERO, "sysctl -w user.max_user_namespaces=65536" },
        { "userns.unprivileged_userns_clone", USERNS, userns_forbidden, CAUSE_SWITCHED_OFF,
                "sysctl -w kernel.unprivileged_userns_clone=1, or run as root of the host" },
        { "userns.apparmor_restricted", USERNS, userns_forbidden, CAUSE_APPARMOR,
                "load an AppArmor profile for this program with the rule `userns,`, or sysctl -w "
                "kernel.apparmor_restrict_unprivileged_userns=0, or run as root of the host" },
        { "userns.exhausted", USERNS, userns_forbidden, CAUSE_EXHAUSTED, "end what holds them, or raise user.max_user_namespaces" },
        { "userns.outer_seccomp", USERNS, userns_forbidden, CAUSE_FILTER,
                "start the outer container with a seccomp profile that allows user namespaces and mounts "
                "(docker: --security-opt seccomp=FILE)" },
        { "userns.refused", USERNS, userns_forbidden, CAUSE_REFUSED,
                "see user_namespaces(7): a chroot, a security module or an outer container may forbid it; run outside of it" },
        { "ids.no_helpers", ITEM_BIT(ITEM_ID_MAP), no_id_helpers, 0, "install the package uidmap (shadow-utils)" },
        { "ids.not_granted", ITEM_BIT(ITEM_ID_MAP), ids_not_granted, 0, "usermod --add-subuids FIRST-LAST --add-subgids FIRST-LAST USER" },
        { "ids.map_not_permitted", ITEM_BIT(ITEM_ID_MAP), map_not_permitted, 0,
                "run as root of the host, or map only the caller's own ids" },
        { "proc.covered", ITEM_BIT(ITEM_PROC), proc_covered, 0,
                "start the outer container with its /proc uncovered "
                "(docker: --security-opt systempaths=unconfined; Kubernetes: procMount: Unmasked)" },
        { "proc.refused", ITEM_BIT(ITEM_PROC), proc_refused, 0,
                "mount a proc that is not read-only on the host's /proc, or run outside of the outer container" },
};

const struct obstacles admit_namespace_obstacles = { rows, ELEMENTSOF(rows) };
