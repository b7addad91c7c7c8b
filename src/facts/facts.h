/* What this host is: kernel, identity, cgroups, user namespaces, quotas. Read-only looks, made when somebody needs them, kept as
 * data (schemas/facts.json), so that the decisions of plan/ can be made and tested for any host on any machine. */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "spec/facts.h"

/* One bit a part. What a launch asks for is cheap: IDENTITY and CGROUP together are six system calls for root, KERNEL is about
 * ten. The rest is for `check`, or for bundles that ask for it. */
enum facts_part {
        FACTS_KERNEL = 1 << 0,
        FACTS_IDENTITY = 1 << 1,
        FACTS_CGROUP = 1 << 2,      /* all but controllers */
        FACTS_USERNS = 1 << 3,
        FACTS_CONTROLLERS = 1 << 4, /* cgroup.controllers */
        FACTS_DELEGATION = 1 << 5,
        FACTS_SUBIDS = 1 << 6,
        FACTS_FEATURES = 1 << 7,
        FACTS_PROC = 1 << 8,
        FACTS_QUOTA = 1 << 9,
        FACTS_POLICY = 1 << 10,
        FACTS_TRIAL = 1 << 11,      /* forks a child that tries; only `check` may ask for it */
        FACTS_ALL = (1 << 12) - 1,  /* all that concerns every container; the rest only those that ask for it */
        FACTS_PRIORITIES = 1 << 12,
        FACTS_NUMA = 1 << 13,
        FACTS_RDT = 1 << 14,
        FACTS_CGROUP_ROOT = 1 << 16, /* of cgroup_root; nothing where that is NULL */
        FACTS_PROJECT = 1 << 15,    /* of workspace on quota_mount; nothing where either is NULL */
};

struct host {
        struct arena *arena;       /* the facts live here */
        struct facts_facts facts;
        bool recorded;             /* loaded from a file: nothing is ever probed */
        const char *quota_mount;   /* FACTS_QUOTA looks at this file system only; NULL: at every XFS that is mounted */
        const char *cgroup_root;   /* FACTS_CGROUP_ROOT looks at this cgroup */
        const char *workspace;     /* FACTS_PROJECT looks at this directory */
        const char *policy_path;   /* FACTS_POLICY looks at this file; NULL: facts_policy_path() */
};

/* Probes those of PARTS (FACTS_* bits) that are not known yet. Nothing on the host is changed. A recorded host that lacks a part is
 * -ENODATA. Returns 0 or a negative errno; parts that were probed before a failure stay. */
int facts_need(struct host *host, unsigned parts, struct error *err);

/* Looks at the user namespace at PATH: forks a child that joins it. One that cannot be joined is not known; the launch will say why. */
int facts_join(struct host *host, const char *path, struct error *err);

/* A path to look at for a sandbox (facts->tree). */
struct facts_look {
        const char *path;
        bool whole;       /* no symlink on the way counts either; else what the last name is */
        bool as_identity; /* the identity must get there */
};

/* Looks at N paths, some with the rights of UID and GID, which this process takes on for the moment of the look (setfsuid(2)). What cannot be
 * looked at is told as what it looks like from here; only an internal error is one. */
int facts_look(struct host *host, const struct facts_look *looks, size_t n, uint32_t uid, uint32_t gid, struct error *err);
/* The place of PATH; NULL: nobody looked. */
const struct facts_place *facts_place(const struct facts_facts *facts, const char *path);

/* Fills HOST, whose arena is set, from a file that `check --json` or facts_print() wrote, and marks it recorded. */
int facts_load(struct host *host, const char *path, struct error *err);

/* Appends all that is known as JSON. */
int facts_print(const struct facts_facts *facts, struct str *out, struct error *err);

const char *facts_cgroup_mount(void);  /* "/sys/fs/cgroup" */
const char *facts_policy_path(void);   /* "/etc/sage-runtime/host.json" */

/* Is this process in the initial user namespace? -errno when /proc does not tell; RET is untouched then. */
int facts_initial_userns(bool *ret);

/* Capability N (capabilities(7)) is in IDENTITY's effective set, and counts on the host: it is held in the initial user namespace. */
bool facts_capable(const struct facts_identity *identity, unsigned capability);
