/* Obstacles to filters, labels, id-mapped mounts and a host policy that can be believed. */
#define _GNU_SOURCE
#include "plan/admit_rows.h"

#include <linux/capability.h>
#include <linux/seccomp.h>

#include "base/str.h"
#include "facts/facts.h"

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

static const char *seccomp_missing(const struct question *q, const struct obstacle *row, enum item item) {
        (void)row, (void)item;
        return q->facts->kernel && !q->facts->kernel->seccomp ? "this kernel has no seccomp filters" : NULL;
}

/* A sandbox's own filter answers with an error or kills; a listener needs the third. */
static const char *action_missing(const struct question *q, const struct obstacle *row, enum item item) {
        const struct facts_features *features = q->facts->features;
        const struct plan_filter *filter = q->demand.plan ? q->demand.plan->filter : NULL;
        const struct {
                bool asked;
                const char *name;
        } actions[] = {
                { q->demand.own_filter, "errno" },
                { q->demand.own_filter, "kill_process" },
                { filter && filter->listener_path, "user_notif" },
        };

        (void)row, (void)item;
        if (!features || !q->facts->kernel || !q->facts->kernel->seccomp)
                return NULL;
        for (size_t i = 0; i < ELEMENTSOF(actions); i++)
                if (actions[i].asked && !admit_listed(actions[i].name, features->seccomp_actions, features->n_seccomp_actions))
                        return arena_printf(q->arena,
                                "this kernel's filters have no action \"%s\" (/proc/sys/kernel/seccomp/actions_avail)", actions[i].name);
        return NULL;
}

static const char *flag_missing(const struct question *q, const struct obstacle *row, enum item item) {
        const struct plan_filter *filter = q->demand.plan ? q->demand.plan->filter : NULL;
        const struct facts_kernel *kernel = q->facts->kernel;

        (void)row, (void)item;
        if (!filter || !(filter->flags & SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV) || !kernel || !admit_kernel_before(kernel, 5, 19))
                return NULL;
        return arena_printf(q->arena, "SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV needs Linux 5.19, found %s", kernel->release);
}

static const char *apparmor_missing(const struct question *q, const struct obstacle *row, enum item item) {
        const struct plan_plan *plan = q->demand.plan;

        (void)row, (void)item;
        if (!plan || !q->facts->kernel || q->facts->kernel->apparmor)
                return NULL;
        return arena_printf(q->arena, "the profile \"%s\" is asked for, and AppArmor is not enabled", plan->process->apparmor_profile);
}

static const char *selinux_missing(const struct question *q, const struct obstacle *row, enum item item) {
        const struct plan_plan *plan = q->demand.plan;

        (void)row, (void)item;
        if (!plan || !q->facts->kernel || q->facts->kernel->selinux)
                return NULL;
        return arena_printf(q->arena, "the label \"%s\" is asked for, and SELinux is not enabled",
                plan->process->selinux_label ? plan->process->selinux_label : plan->rootfs->mount_label);
}

/* The first version in which a file system that the plan names itself can be id-mapped (FS_ALLOW_IDMAP); binds bring their own, which
 * only the mount tells. */
static const struct {
        const char *type;
        unsigned major, minor;
} idmap_since[] = {
        { "ext4", 5, 12 },
        { "tmpfs", 6, 3 },
        { "vfat", 5, 12 },
        { "xfs", 5, 12 },
};

static const char *idmap_unsupported(const struct question *q, const struct obstacle *row, enum item item) {
        const struct plan_plan *plan = q->demand.plan;
        const struct facts_kernel *kernel = q->facts->kernel;

        (void)row, (void)item;
        for (size_t i = 0; plan && kernel && i < plan->n_mounts; i++) {
                const struct plan_mount *mount = &plan->mounts[i];

                for (size_t k = 0; mount->idmap && mount->kind == PLAN_MOUNT_KIND_FILESYSTEM && mount->type && k < ELEMENTSOF(idmap_since);
                        k++)
                        if (streq(mount->type, idmap_since[k].type) &&
                                admit_kernel_before(kernel, idmap_since[k].major, idmap_since[k].minor))
                                return arena_printf(q->arena, "%s: an id-mapped %s needs Linux %u.%u, found %s", mount->field, mount->type,
                                        idmap_since[k].major, idmap_since[k].minor, kernel->release);
        }
        return NULL;
}

/* mount_setattr(2): CAP_SYS_ADMIN in the user namespace of the file system, which for the host's is the host's. */
static const char *idmap_unprivileged(const struct question *q, const struct obstacle *row, enum item item) {
        const struct facts_identity *identity = q->facts->identity;
        const struct plan_plan *plan = q->demand.plan;

        (void)row, (void)item;
        if (!identity || facts_capable(identity, CAP_SYS_ADMIN))
                return NULL;
        for (size_t i = 0; plan && i < plan->n_mounts; i++)
                if (plan->mounts[i].idmap && plan->mounts[i].kind == PLAN_MOUNT_KIND_BIND)
                        return arena_printf(q->arena,
                                "%s: only CAP_SYS_ADMIN on the host may map the ids of the host's file systems; uid %u does not have it",
                                plan->mounts[i].field, identity->euid);
        return NULL;
}

static const char *policy_untrusted(const struct question *q, const struct obstacle *row, enum item item) {
        const struct facts_policy *policy = q->facts->policy;

        (void)row, (void)item;
        if (!policy || !policy->present || policy->trusted)
                return NULL;
        return arena_printf(q->arena, "expected %s and its directory to be root's and writable by nobody else", policy->path);
}

static const struct obstacle rows[] = {
        { "seccomp.missing", ITEM_BIT(ITEM_SECCOMP), seccomp_missing, 0, "install a kernel with CONFIG_SECCOMP_FILTER" },
        { "seccomp.action_missing", ITEM_BIT(ITEM_SECCOMP), action_missing, 0, "install a newer kernel" },
        { "seccomp.flag_missing", ITEM_BIT(ITEM_SECCOMP), flag_missing, 0,
                "install a newer kernel, or take the flag out of linux.seccomp.flags" },
        { "apparmor.missing", ITEM_BIT(ITEM_APPARMOR), apparmor_missing, 0,
                "boot with AppArmor (lsm=…,apparmor), or take the profile out of the bundle" },
        { "selinux.missing", ITEM_BIT(ITEM_SELINUX), selinux_missing, 0, "boot with SELinux, or take the label out of the bundle" },
        { "mount.idmap_unsupported", ITEM_BIT(ITEM_IDMAPPED_MOUNTS), idmap_unsupported, 0,
                "install a newer kernel, or mount it without a map" },
        { "mount.idmap_unprivileged", ITEM_BIT(ITEM_IDMAPPED_MOUNTS), idmap_unprivileged, 0,
                "run as root of the host, or mount it without a map" },
        { "policy.untrusted", ITEM_BIT(ITEM_HOST_POLICY), policy_untrusted, 0,
                "chown root:root and chmod go-w the file and its directory" },
};

const struct obstacles admit_security_obstacles = { rows, ELEMENTSOF(rows) };
