/* Where in a sandbox's cgroup its processes are: "init" its process 1, "main" the bundle's process, "exec-N" a command, where N is the pid of
 * the runtime that runs it. The claim on the cgroup (cgroup_claim.h) covers all of them. */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "life/state.h"
#include "spec/plan.h"

#define LEAF_INIT "init"
#define LEAF_MAIN "main"

struct leaf {
        const char *path; /* absolute; NULL: the sandbox has no cgroup */
        int fd;           /* for CLONE_INTO_CGROUP, or -1 */
};
#define LEAF_NONE \
        { .fd = -1 }

/* Makes the leaf NAME, or, with NAME NULL, one for an exec by this process; the empty ones of runtimes that have ended go first.
 * CODE_INVALID_STATE when the sandbox's cgroup is gone. */
int leaf_make(struct arena *arena, const struct container *container, const struct plan_cgroup *limits, const char *name, struct leaf *ret,
        struct error *err);
