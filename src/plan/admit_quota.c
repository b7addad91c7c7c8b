/* Obstacles to the hard limit on disk use: XFS project quotas. */
#define _GNU_SOURCE
#include "plan/admit_rows.h"

#include <linux/capability.h>
#include <string.h>

#include "base/str.h"
#include "facts/facts.h"

/* How far a file system gets; the first that is not there is what is told. */
enum stage { STAGE_NO_XFS, STAGE_NO_STATE, STAGE_NO_ACCOUNTING, STAGE_NO_ENFORCEMENT, STAGE_NO_READING, STAGE_FINE, STAGE_NO_MOUNT };

static enum stage stage_of(const struct facts_quota *quota) {
        if (!quota->xfs && (quota->has & FACTS_QUOTA_HAS_ERRNUM))
                return STAGE_NO_STATE;
        if (!quota->xfs)
                return STAGE_NO_XFS;
        if (quota->has & FACTS_QUOTA_HAS_ERRNUM)
                return STAGE_NO_STATE;
        if (!quota->accounting)
                return STAGE_NO_ACCOUNTING;
        if (!quota->enforcement)
                return STAGE_NO_ENFORCEMENT;
        return quota->readable ? STAGE_FINE : STAGE_NO_READING;
}

/* The file system that gets farthest. */
static const struct facts_quota *best(const struct facts_facts *facts) {
        const struct facts_quota *found = &facts->quotas[0];

        for (size_t i = 1; i < facts->n_quotas; i++)
                if (stage_of(&facts->quotas[i]) > stage_of(found))
                        found = &facts->quotas[i];
        return found;
}

static const char *stops_at(const struct question *q, const struct obstacle *row, enum item item) {
        const struct facts_facts *facts = q->facts;
        const struct facts_quota *quota;

        (void)item;
        if (!facts->quotas)
                return NULL;
        if (facts->n_quotas == 0)
                return row->detail == STAGE_NO_MOUNT ? "no XFS file system is mounted" : NULL;
        quota = best(facts);
        if (stage_of(quota) != row->detail)
                return NULL;
        switch (stage_of(quota)) {
        case STAGE_NO_XFS:
                return arena_printf(q->arena, "%s is not XFS", quota->mount);
        case STAGE_NO_STATE:
                return arena_printf(q->arena, "the quota state of %s cannot be asked: %s", quota->mount, strerror(quota->errnum));
        case STAGE_NO_ACCOUNTING:
                return arena_printf(q->arena, "%s does not count projects", quota->mount);
        default:
                return arena_printf(q->arena, "%s counts projects and does not enforce their limits", quota->mount);
        }
}

/* Reading a project's limits needs CAP_SYS_ADMIN on the host (fs/quota/quota.c, check_quotactl_permission). */
static const char *unreadable(const struct question *q, const struct obstacle *row, enum item item) {
        const struct facts_identity *identity = q->facts->identity;
        const struct facts_facts *facts = q->facts;

        (void)row, (void)item;
        if (identity && !facts_capable(identity, CAP_SYS_ADMIN))
                return arena_printf(
                        q->arena, "reading a project's limits needs CAP_SYS_ADMIN on the host; uid %u does not have it", identity->euid);
        if (!facts->quotas || facts->n_quotas == 0 || stage_of(best(facts)) != STAGE_NO_READING)
                return NULL;
        return arena_printf(q->arena, "the project limits of %s cannot be read", best(facts)->mount);
}

#define DISK ITEM_BIT(ITEM_DISK)

static const struct obstacle rows[] = {
        { "quota.no_xfs", DISK, stops_at, STAGE_NO_MOUNT, "make an XFS file system for workspaces and mount it with -o prjquota" },
        { "quota.not_xfs", DISK, stops_at, STAGE_NO_XFS, "put workspaces on an XFS file system that is mounted with -o prjquota" },
        { "quota.unavailable", DISK, stops_at, STAGE_NO_STATE,
                "check that the mount is there, and that an outer container lets quotactl_fd through" },
        { "quota.no_prjquota", DISK, stops_at, STAGE_NO_ACCOUNTING,
                "unmount it and mount it with -o prjquota (for /: rootflags=prjquota); a remount is not enough; needs CONFIG_XFS_QUOTA" },
        { "quota.not_enforced", DISK, stops_at, STAGE_NO_ENFORCEMENT,
                "mount it with -o prjquota instead of pqnoenforce, or xfs_quota -x -c 'enable -p' MOUNT" },
        { "quota.unreadable", DISK, unreadable, 0, "run as root of the host (it drops to the execution identity)" },
};

const struct obstacles admit_quota_obstacles = { rows, ELEMENTSOF(rows) };
