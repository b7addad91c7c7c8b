#include "life/join.h"

#include <errno.h>
#include <signal.h>

#include "apply/cgroup_leaf.h"
#include "base/process.h"

/* Whoever comes next must know; that this may fail as well changes nothing of what is told here. */
static void mark_lost(struct arena *arena, const char *root, const char *id) {
        _cleanup_container_ struct container container = CONTAINER_CLOSED;
        struct error ignored;

        if (container_open(arena, root, id, CONTAINER_LOCKED, &container, &ignored) < 0)
                return;
        container.status.has |= STATUS_STATUS_HAS_LOST;
        container.status.lost = true;
        (void)container_save(&container, &ignored);
}

int join_end(struct arena *arena, const char *root, const char *id, struct joined *joined, struct error *err) {
        int r;

        if (!joined->sandboxed)
                return 0;
        (void)process_signal(joined->pidfd, SIGKILL);
        if (joined->leaf)
                r = cgroup_leaf_end(joined->leaf, err);
        else if ((r = process_wait_end(joined->pidfd, JOIN_END_MS)) < 0)
                r = fail_errno(err, CODE_LOST, -r, "", "the command's process %d does not die", joined->pid);
        if (r < 0) {
                err->effect = EFFECT_UNKNOWN;
                mark_lost(arena, root, id);
        }
        return r;
}
