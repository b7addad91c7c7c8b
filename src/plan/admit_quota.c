/* Obstacles to the hard limit on disk use: XFS project quotas, and the project that a workspace belongs to. */
#define _GNU_SOURCE
#include "plan/admit_rows.h"

#include <errno.h>
#include <linux/capability.h>
#include <string.h>

#include "base/str.h"
#include "facts/facts.h"
#include "plan/disk.h"

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

/* ---- the project of one workspace -------------------------------------------------------------------------------------- */

enum fault {
        FAULT_ELSEWHERE,
        FAULT_IS_MOUNT,
        FAULT_NO_PROJECT,
        FAULT_NOT_INHERITED,
        FAULT_REALTIME,
        FAULT_UNKNOWN,
        FAULT_NO_BLOCK_LIMIT,
        FAULT_BLOCK_LIMIT,
        FAULT_NO_INODE_LIMIT,
        FAULT_INODE_LIMIT,
};

/* Without one of these the others mean nothing. */
static bool workspace_fault(const struct facts_project *p, enum fault *ret) {
        const struct {
                enum fault fault;
                bool found;
        } checks[] = {
                { FAULT_ELSEWHERE, !p->same_filesystem },
                { FAULT_IS_MOUNT, !p->below },
                { FAULT_UNKNOWN, p->has & FACTS_PROJECT_HAS_ERRNUM },
                { FAULT_NO_PROJECT, p->id == 0 },
                { FAULT_NOT_INHERITED, !p->inherits },
                { FAULT_REALTIME, p->realtime },
        };

        for (size_t i = 0; i < ELEMENTSOF(checks); i++)
                if (checks[i].found) {
                        *ret = checks[i].fault;
                        return true;
                }
        return false;
}

static const char *of_workspace(const struct question *q, const struct obstacle *row, enum item item) {
        const struct facts_project *p = q->facts->project;
        enum fault fault;

        (void)item;
        if (!p || !workspace_fault(p, &fault) || fault != row->detail)
                return NULL;
        switch (fault) {
        case FAULT_ELSEWHERE:
                return arena_printf(q->arena, "%s does not lie on the file system of %s", p->workspace, p->mount);
        case FAULT_IS_MOUNT:
                return arena_printf(q->arena, "%s is the top of that file system itself", p->workspace);
        case FAULT_UNKNOWN:
                return arena_printf(q->arena, "the project of %s cannot be asked: %s", p->workspace, strerror(p->errnum));
        case FAULT_NO_PROJECT:
                return arena_printf(q->arena, "%s belongs to no project", p->workspace);
        case FAULT_NOT_INHERITED:
                return arena_printf(q->arena, "what is made in %s does not become project %u's", p->workspace, p->id);
        default:
                return arena_printf(q->arena, "files in %s lie in the realtime section, which the limit does not count", p->workspace);
        }
}

/* Q's limit is what was asked for; the kernel's must not be above it, and a file costs at least an inode: bytes/4096 of them, or the host
 * pays for empty ones (specification: "at most requested disk bytes divided by 4096"). */
static const char *of_limits(const struct question *q, const struct obstacle *row, enum item item) {
        const struct facts_project *p = q->facts->project;
        uint64_t inodes = q->disk_bytes / PROJECT_BYTES_PER_INODE;
        enum fault fault;

        (void)item;
        if (!p || q->disk_bytes == 0 || workspace_fault(p, &fault))
                return NULL;
        switch ((enum fault)row->detail) {
        case FAULT_NO_BLOCK_LIMIT:
                return p->block_hard ? NULL : arena_printf(q->arena, "project %u has no hard limit on blocks", p->id);
        case FAULT_BLOCK_LIMIT:
                if (p->block_hard <= q->disk_bytes)
                        return NULL;
                return arena_printf(q->arena, "project %u may hold %llu bytes, and %llu were asked for", p->id,
                        (unsigned long long)p->block_hard, (unsigned long long)q->disk_bytes);
        case FAULT_NO_INODE_LIMIT:
                return p->inode_hard ? NULL : arena_printf(q->arena, "project %u has no hard limit on inodes", p->id);
        default:
                if (p->inode_hard <= inodes)
                        return NULL;
                return arena_printf(q->arena, "project %u may hold %llu inodes, and %llu is the most for %llu bytes", p->id,
                        (unsigned long long)p->inode_hard, (unsigned long long)inodes, (unsigned long long)q->disk_bytes);
        }
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
        { "quota.workspace_elsewhere", DISK, of_workspace, FAULT_ELSEWHERE,
                "put the workspace on the file system that linux_quota_mount names" },
        { "quota.workspace_is_mount", DISK, of_workspace, FAULT_IS_MOUNT, "make a directory for it, and a project of that directory" },
        { "quota.project_unknown", DISK, of_workspace, FAULT_UNKNOWN, "check that an outer container lets quotactl_fd and ioctl through" },
        { "quota.no_project", DISK, of_workspace, FAULT_NO_PROJECT, "xfs_quota -x -c 'project -s -p WORKSPACE ID' MOUNT" },
        { "quota.not_inherited", DISK, of_workspace, FAULT_NOT_INHERITED, "xfs_quota -x -c 'project -s -p WORKSPACE ID' MOUNT" },
        { "quota.realtime", DISK, of_workspace, FAULT_REALTIME, "xfs_io -c 'chattr -t' WORKSPACE" },
        { "quota.no_block_limit", DISK, of_limits, FAULT_NO_BLOCK_LIMIT, "xfs_quota -x -c 'limit -p bhard=BYTES ID' MOUNT" },
        { "quota.block_limit_too_high", DISK, of_limits, FAULT_BLOCK_LIMIT,
                "raise disk_mb, or lower the limit: xfs_quota -x -c 'limit -p bhard=BYTES ID' MOUNT" },
        { "quota.no_inode_limit", DISK, of_limits, FAULT_NO_INODE_LIMIT, "xfs_quota -x -c 'limit -p ihard=NUMBER ID' MOUNT" },
        { "quota.inode_limit_too_high", DISK, of_limits, FAULT_INODE_LIMIT,
                "raise disk_mb, or lower the limit: xfs_quota -x -c 'limit -p ihard=NUMBER ID' MOUNT" },
};

const struct obstacles admit_quota_obstacles = { rows, ELEMENTSOF(rows) };

int admit_disk(struct arena *arena, const struct facts_facts *facts, uint64_t bytes, const char *field, struct error *err) {
        const struct question q = { .arena = arena, .demand = { .items = DISK }, .facts = facts, .disk_bytes = bytes };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                const char *text = rows[i].find(&q, &rows[i], ITEM_DISK);

                if (text)
                        return fail(err, CODE_RESOURCE_LIMITS_UNSUPPORTED, EOPNOTSUPP, field, "%s: %s; %s", rows[i].code, text,
                                rows[i].remedy);
        }
        return 0;
}
