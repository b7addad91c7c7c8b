#define _GNU_SOURCE
#include "life/leaf.h"

#include <errno.h>
#include <stdio.h>

#include "apply/cgroup_leaf.h"
#include "base/fd.h"
#include "life/cgroup_claim.h"

/* pids.max allows no more processes (PID_MAX_LIMIT, linux/threads.h), and a command has two. */
enum { EXECS_MAX = 2 << 20 };

static int gone(const struct container *container, struct error *err) {
        return fail(err, CODE_INVALID_STATE, ESRCH, container->status.cgroup->path, "container not running: the sandbox's cgroup is gone");
}

static int make_one(int dir, const char *name, const struct plan_cgroup *limits, char text[32], int *ret, struct error *err) {
        int r = -EEXIST;

        for (unsigned n = 0; r == -EEXIST && n < EXECS_MAX; n++) {
                if (name)
                        snprintf(text, 32, "%s", name);
                else
                        snprintf(text, 32, "exec-%u", n);
                r = cgroup_leaf_make(dir, text, limits, ret, err);
                if (name)
                        break;
        }
        return r == -EEXIST ? fail(err, CODE_BUSY, EEXIST, text, "this cgroup of the sandbox is in use") : r;
}

int leaf_make(struct arena *arena, const struct container *container, const struct plan_cgroup *limits, const char *name, struct leaf *ret,
        struct error *err) {
        const struct status_cgroup_claim *claim = container->status.cgroup;
        _cleanup_close_ int dir = -1;
        char text[32];
        int r, fd;

        if (!claim)
                return 0;
        r = cgroup_claim_open(container, &dir);
        if (r == -ENOENT)
                return gone(container, err);
        if (r < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, -r, claim->path, "cannot open the sandbox's cgroup");
        if ((r = make_one(dir, name, limits, text, &fd, err)) < 0)
                return r;
        *ret = (struct leaf){ .path = arena_printf(arena, "%s/%s", claim->path, text), .fd = fd };
        return 0;
}
