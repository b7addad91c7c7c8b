#define _GNU_SOURCE
#include "life/release.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "apply/cgroup.h"
#include "apply/rdt.h"
#include "apply/scratch.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/process.h"
#include "life/cgroup_claim.h"
#include "life/workspace.h"

static int kill_init(const struct container *container, struct error *err) {
        _cleanup_close_ int pidfd = -1;
        enum oci_status status;
        int r;

        if ((r = container_state(container, &status, &pidfd, err)) < 0 || pidfd < 0)
                return r;
        log_debug("%s: killing process %d", container->id, container->status.init->pid);
        r = process_signal(pidfd, SIGKILL);
        if (r < 0 && r != -ESRCH)
                return fail_errno(err, CODE_RELEASE_FAILED, -r, container->id, "cannot kill the container's process");
        r = process_wait_end(pidfd, RELEASE_WAIT_MS);
        return r < 0 ? fail_errno(err, CODE_LOST, -r, container->id, "the container's process %d does not die; it may wait for a file system that does not answer", container->status.init->pid)
                     : 0;
}

/* The cgroup that is ours; *ret_fd stays -1 where there is none, or not any more. One that cannot be looked at may be. */
static int open_cgroup(const struct container *container, int *ret_fd, struct error *err) {
        int r = cgroup_claim_open(container, ret_fd);

        if (r == 0 || r == -ENOENT)
                return 0;
        return fail_errno(err, CODE_RELEASE_FAILED, -r, container->status.cgroup->path, "cannot look at the container's cgroup");
}

/* A cgroup that was there before us may hold others' processes: there the death of init has to do. */
static int kill_cgroup(const struct container *container, struct error *err) {
        _cleanup_close_ int fd = -1;
        int r;

        if (!container->status.cgroup || container->status.cgroup->ours == 0)
                return 0;
        r = open_cgroup(container, &fd, err);
        return r < 0 || fd < 0 ? r : cgroup_kill(fd, err);
}

int release_kill(const struct container *container, struct error *err) {
        int r = kill_init(container, err);

        return r < 0 ? r : kill_cgroup(container, err);
}

/* Another's in the place of ours is in use, and so is every cgroup above it. */
static int release_cgroup(const struct container *container, struct error *err) {
        const struct status_cgroup_claim *claim = container->status.cgroup;
        enum cgroup_claim found;
        int r;

        if (!claim || claim->ours == 0)
                return 0;
        r = cgroup_claim_look(container, &found);
        if (r < 0)
                return fail_errno(err, CODE_RELEASE_FAILED, -r, claim->path, "cannot look at the container's cgroup");
        if (found == CGROUP_CLAIM_ANOTHERS)
                return 0;
        /* Mostly init was the last one, and its cgroup has none below: then this is all. A busy one is killed first. */
        if (claim->ours == 1 && found == CGROUP_CLAIM_OURS && rmdir(claim->path) == 0)
                return 0;
        if ((r = kill_cgroup(container, err)) < 0)
                return r;
        return cgroup_remove(claim->path, claim->ours, err);
}

/* It ends by itself when the sandbox has, and takes that along if it is ended first. */
static int kill_monitor(const struct container *container, struct error *err) {
        const struct status_process_claim *monitor = container->status.monitor;
        _cleanup_close_ int pidfd = -1;
        int r;

        if (!monitor || !container_is_of_this_boot(container) || process_open(monitor->pid, monitor->start_time, &pidfd) < 0)
                return 0;
        (void)process_signal(pidfd, SIGKILL);
        r = process_wait_end(pidfd, RELEASE_WAIT_MS);
        return r < 0 ? fail_errno(err, CODE_LOST, -r, container->id, "the container's monitor %d does not die", monitor->pid) : 0;
}

int release(struct container *container, struct error *err) {
        int r;

        log_debug("%s: giving back what it holds", container->id);
        /* What only sandboxes have is not even called for others: src/rare.ld. */
        if ((r = kill_init(container, err)) < 0 || (r = kill_monitor(container, err)) < 0 || (r = release_cgroup(container, err)) < 0 ||
            (r = rdt_remove(container->status.rdt, err)) < 0 ||
            (container->status.scratch && (r = scratch_remove(container->status.scratch, err)) < 0) ||
            (container->status.workspace && (r = workspace_release(container, err)) < 0))
                return r;
        return container_remove(container, err);
}
