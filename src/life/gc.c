#include "life/gc.h"

#include <errno.h>

#include "life/end.h"
#include "life/private_bundle.h"
#include "life/salvage.h"
#include "life/state.h"

static const char *const reasons[] = {
        [GC_LIVES] = "it lives",
        [GC_BUSY] = "another command is at work on it",
        [GC_GONE] = "it was deleted meanwhile",
        [GC_UNMADE] = "its create was cut short",
        [GC_REBOOTED] = "it is from before the host was started",
        [GC_ENDED] = "its process has ended",
        [GC_ORPHANED] = "its runtime was killed",
};

const char *gc_reason(enum gc_verdict verdict) {
        return reasons[verdict];
}

bool gc_dead(enum gc_verdict verdict) {
        return verdict >= GC_UNMADE;
}

/* Nobody but the lock's holder makes a container, and that is us: one that is not complete will never be. A container that is complete and
 * whose process lives is somebody's, whoever made it. */
static int judge(const struct container *container, enum gc_verdict *ret, struct error *err) {
        enum oci_status status;
        int r;

        if (container->status.schema && !container_is_of_this_boot(container)) {
                *ret = GC_REBOOTED;
                return 0;
        }
        if ((r = container_state(container, &status, NULL, err)) < 0)
                return r;
        *ret = status == OCI_STATUS_CREATING ? GC_UNMADE : status == OCI_STATUS_STOPPED ? GC_ENDED : GC_LIVES;
        return 0;
}

/* A create that was killed before it wrote a status holds nothing, nor does a delete that was killed behind removing it; both leave no plan
 * either. With one, or with processes in a cgroup of its name, the status was lost in another way, and the container may live. */
static int check_unwritten(struct arena *arena, struct container *container, struct error *err) {
        struct plan_plan plan;

        if (container_load_plan(arena, container, &plan, err) != -ENOENT)
                return fail(err, CODE_STATE_CORRUPT, EIO, container->id,
                        "the status of container `%s` is lost and it may live: `delete --force` ends it", container->id);
        return container_salvage(arena, container, err);
}

int gc_container(struct arena *arena, const char *root, const char *id, bool look, enum gc_verdict *ret, struct error *err) {
        _cleanup_container_ struct container container = CONTAINER_CLOSED;
        int r = container_open(arena, root, id, CONTAINER_LOCKED_AT_ONCE, &container, err);

        if (r < 0 && (err->code == CODE_BUSY || err->code == CODE_NOT_FOUND)) {
                *ret = err->code == CODE_BUSY ? GC_BUSY : GC_GONE;
                return 0;
        }
        if (r < 0 || (r = judge(&container, ret, err)) < 0 || !gc_dead(*ret) || look)
                return r;
        if (container.status.schema == 0 && (r = check_unwritten(arena, &container, err)) < 0)
                return r;
        return end(arena, &container, err);
}

int gc_private_bundle(struct arena *arena, const char *root, const char *id, bool look, enum gc_verdict *ret, struct error *err) {
        _cleanup_private_bundle_ struct private_bundle bundle = PRIVATE_BUNDLE_NONE;
        _cleanup_container_ struct container container = CONTAINER_CLOSED;
        struct error none;
        int r = private_bundle_open_left(arena, root, id, &bundle, err);

        if (r < 0 && (err->code == CODE_BUSY || err->code == CODE_NOT_FOUND)) {
                *ret = err->code == CODE_BUSY ? GC_BUSY : GC_GONE;
                return 0;
        }
        if (r < 0)
                return r;
        if (container_open_unread(root, id, CONTAINER_UNLOCKED, &container, &none) == 0 || none.code != CODE_NOT_FOUND) {
                *ret = GC_LIVES;
                return 0;
        }
        *ret = GC_ORPHANED;
        return look ? 0 : private_bundle_remove(&bundle, err);
}
