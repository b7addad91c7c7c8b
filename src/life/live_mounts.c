#define _GNU_SOURCE
#include "life/live_mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "apply/credentials.h"
#include "apply/idmap.h"
#include "apply/mount_detach.h"
#include "apply/mount_source.h"
#include "apply/mounts.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/process.h"
#include "life/join.h"
#include "life/sync.h"
#include "plan/compilation.h"

/* The work of the child, which is in the container's namespaces but for the pid namespace: nobody in there can see it, stop it, or look
 * at what it has open. It needs the others because a new file system belongs to them: tmpfs to the user namespace, mqueue to the IPC
 * namespace, sysfs to the network namespace. */
struct live {
        const struct plan_plan *plan;
        const struct plan_mount *mounts;
        size_t n;
        int *sources; /* trees of the host's for binds, opened before: the container's root may not reach them; then what is attached of them,
                         -1: nothing that could be taken off (remount). NULL: mounts are removed */
        int descriptors; /* /proc/self/fd of the child, from before it had the container's /proc */
        int init;
        const struct container *container;
        struct sync sync;
};

static int enter(const struct live *live, int *ret_root, struct error *err) {
        const uint64_t kinds = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWCGROUP;
        int flags = (int)(join_namespaces(live->plan->namespaces, live->container->status.init->pid) & kinds), r;

        if (setns(live->init, flags) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "", "cannot join the container's namespaces");
        if (flags & CLONE_NEWUSER && ((r = idmap_become_root(live->plan->ids, err)) < 0 || (r = credentials_hide(err)) < 0))
                return r;
        umask(0); /* the modes of mount points are said in full */
        *ret_root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
        return *ret_root < 0 ? fail_errno(err, CODE_LAUNCH_FAILED, errno, "/", "cannot open the container's root") : 0;
}

/* Takes off what the first N have become, wherever it is by now. */
static void undo(const struct live *live, size_t n, struct error *err) {
        while (n-- > 0)
                if (live->sources[n] < 0 || mount_detach_mount(live->descriptors, live->sources[n]) < 0)
                        err->effect = EFFECT_APPLIED;
}

static int add_all(const struct live *live, int root, struct error *err) {
        for (size_t i = 0; i < live->n; i++) {
                int r = mount_attach_live(live->plan, &live->mounts[i], root, &live->sources[i], err);

                if (r < 0) {
                        undo(live, live->sources[i] < 0 ? i : i + 1, err);
                        return r;
                }
        }
        return 0;
}

static int remove_all(const struct live *live, int root, struct error *err) {
        int r;

        for (size_t i = 0; i < live->n; i++)
                if ((r = mount_detach_check(root, &live->mounts[i], err)) < 0)
                        return r;
        for (size_t i = live->n; i > 0; i--)
                if ((r = mount_detach(root, &live->mounts[i - 1], err)) < 0) {
                        err->effect = i < live->n ? EFFECT_APPLIED : EFFECT_NOT_APPLIED;
                        return r;
                }
        return 0;
}

__attribute__((noreturn)) static void child_main(struct live *live) {
        struct error err = { 0 };
        int root = -1, r;

        /* We may wait for a file system of the container's without end: then nothing of the runtime's may wait with us, above all not the
         * lock on the container, which lives as long as any copy of its descriptor (flock(2)). */
        close_fd(&live->sync.runtime);
        close(live->container->dir);
        close(live->container->root);
        live->descriptors = open("/proc/self/fd", O_PATH | O_DIRECTORY | O_CLOEXEC);
        r = live->descriptors < 0 ? fail_errno(&err, CODE_LAUNCH_FAILED, errno, "/proc/self/fd", "cannot open our own descriptors")
                                  : enter(live, &root, &err);
        if (r == 0)
                r = live->sources ? add_all(live, root, &err) : remove_all(live, root, &err);
        if (r < 0)
                sync_report_error(live->sync.child, &err);
        else
                (void)sync_report(live->sync.child, REPORT_READY, -1);
        _exit(0);
}

static int work(struct live *live, const struct container *container, struct error *err) {
        int dumpable = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0), fd, r, status;
        _cleanup_sync_ struct sync sync = SYNC_CLOSED;
        _cleanup_close_ int pidfd = -1;
        enum report report;
        pid_t pid, unused;

        if (!namespace_own(live->plan, CLONE_NEWNS))
                return fail(err, CODE_CONFIG_INVALID, EINVAL, "linux.namespaces", "the container has no mount namespace of its own");
        if ((r = sync_open(&sync, err)) < 0 || (r = credentials_hide(err)) < 0)
                return r;
        live->sync = sync;
        live->container = container;
        pid = process_clone(0, -1, &pidfd);
        if (pid == 0)
                child_main(live);
        prctl(PR_SET_DUMPABLE, dumpable, 0, 0, 0);
        close_fd(&sync.child);
        if (pid < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, -pid, "", "cannot make a process");
        log_debug("%s: process %d changes its mounts", container->id, pid);
        r = sync_hear(sync.runtime, &report, &fd, &unused, err);
        close_fd(&fd);
        if (r == 0 && report != REPORT_READY) {
                r = fail(err, CODE_LAUNCH_FAILED, EIO, "", "the process that was to change the mounts died");
                err->effect = EFFECT_UNKNOWN;
        }
        (void)process_reap(pidfd, &status);
        return r;
}

static int open_sources(struct live *live, struct error *err) {
        for (size_t i = 0; i < live->n; i++)
                live->sources[i] = -1;
        for (size_t i = 0; i < live->n; i++) {
                int r = live->mounts[i].kind == PLAN_MOUNT_KIND_BIND
                        ? mount_source_open(&live->mounts[i], live->plan->ids, true, &live->sources[i], err)
                        : 0;

                if (r < 0)
                        return r;
        }
        return 0;
}

int live_mounts_add(struct arena *arena, const struct container *container, int init, const struct plan_plan *plan,
        const struct plan_mount *mounts, size_t n, struct error *err) {
        struct live live = { .plan = plan, .mounts = mounts, .n = n, .init = init, .sources = arena_array(arena, int, n + 1) };
        int r = open_sources(&live, err);

        if (r == 0)
                r = work(&live, container, err);
        for (size_t i = 0; i < n; i++)
                close_fd(&live.sources[i]);
        return r;
}

int live_mounts_remove(const struct container *container, int init, const struct plan_plan *plan, const struct plan_mount *mounts, size_t n,
        struct error *err) {
        struct live live = { .plan = plan, .mounts = mounts, .n = n, .init = init };

        return work(&live, container, err);
}
