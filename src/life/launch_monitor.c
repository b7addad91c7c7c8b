/* The monitor of a strict sandbox whose limits are sampled (src/monitor): made and claimed when process 1 is there, and before anything of the
 * payload runs. */
#define _GNU_SOURCE
#include "life/launch_steps.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "apply/container_path.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/process.h"
#include "life/leaf.h"
#include "life/lost.h"
#include "life/soft.h"
#include "monitor/monitor.h"
#include "plan/disk.h"

#define MIB UINT64_C(1048576)

/* What the files of the sandbox count in: the very trees that are mounted there and can be written. */
int launch_prepare_monitor(struct launch *l, struct error *err) {
        const struct plan_plan *plan = l->plan;
        struct launch_monitor *m = arena_new(l->arena, struct launch_monitor);
        int pair[2];

        m->tops = arena_array(l->arena, int, plan->n_mounts + 1);
        m->alive = m->rooms[0] = m->rooms[1] = -1;
        l->monitor = m;
        for (size_t i = 0; l->child.sources && i < plan->n_mounts; i++) {
                int fd = soft_counts(&plan->mounts[i]) ? fcntl(l->child.sources[i], F_DUPFD_CLOEXEC, 3) : -1;

                if (fd >= 0)
                        m->tops[m->n_tops++] = fd;
        }
        if (pipe2(pair, O_CLOEXEC) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "", "cannot make a pipe for the sandbox's monitor");
        l->child.monitor = pair[0];
        m->alive = pair[1];
        return 0;
}

void launch_drop_monitor(struct launch *l) {
        struct launch_monitor *m = l->monitor;

        if (!m)
                return;
        for (size_t i = 0; i < m->n_tops; i++)
                close_fd(&m->tops[i]);
        for (int i = 0; i < MONITOR_ROOMS; i++)
                close_fd(&m->rooms[i]);
        close_fd(&m->alive);
}

static int open_rooms(const struct launch *l, int rooms[MONITOR_ROOMS], struct error *err) {
        static const char *const paths[MONITOR_ROOMS] = { "/tmp", "/dev/shm" };
        _cleanup_close_ int root = -1;
        char path[32];

        if (l->plan->sandbox->limits->disk != SAGE_LIMIT_STATE_SAMPLED)
                return 0;
        snprintf(path, sizeof path, "/proc/%d/root", l->result.pid);
        root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (root < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, path, "cannot look at what the sandbox's monitor is to watch");
        for (int i = 0; i < MONITOR_ROOMS; i++) {
                int fd = container_path_try(root, paths[i], O_PATH | O_DIRECTORY, RESOLVE_NO_SYMLINKS);

                if (fd < 0)
                        return fail_errno(err, CODE_LAUNCH_FAILED, -fd, paths[i], "cannot open what the sandbox's monitor is to watch");
                rooms[i] = fd;
        }
        return 0;
}

static struct monitor describe(const struct launch *l, int lost, int go) {
        const struct sage_limits *limits = l->plan->sandbox->limits;
        const struct sage_resources *resources = l->plan->sage->resources;
        const struct container *c = &l->result.container;
        struct monitor m = {
                .stop = { .cgroup = l->cgroup,
                        .path = c->status.cgroup ? c->status.cgroup->path : NULL,
                        .init = LEAF_INIT,
                        .pid = l->result.pid,
                        .pidfd = l->result.pidfd },
                .tops = l->monitor->tops,
                .n_tops = l->monitor->n_tops,
                .lost = lost,
                .go = go,
                .alive = l->monitor->alive,
                .rooms = { l->monitor->rooms[0], l->monitor->rooms[1] },
        };

        if (limits->cpu == SAGE_LIMIT_STATE_SAMPLED)
                m.cpu_percent = resources->cpu_percent;
        if (limits->memory == SAGE_LIMIT_STATE_SAMPLED)
                m.memory_bytes = resources->memory_mb * MIB;
        if (limits->process_count == SAGE_LIMIT_STATE_SAMPLED)
                m.tasks = resources->max_processes;
        if (limits->disk == SAGE_LIMIT_STATE_SAMPLED)
                m.disk_bytes = disk_limit(l->plan->sage);
        return m;
}

/* Written before it may do anything; should we be killed before that, it hears nothing from us and ends. */
static int claim(struct launch *l, pid_t pid, struct error *err) {
        struct container *c = &l->result.container;
        struct status_process_claim *claim = arena_new(l->arena, struct status_process_claim);
        bool dead;
        int r;

        claim->pid = pid;
        r = process_start_time(pid, &claim->start_time, &dead);
        if (r < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, -r, "", "cannot read the start time of the monitor");
        c->status.monitor = claim;
        return container_save(c, err);
}

int launch_begin_monitor(struct launch *l, struct error *err) {
        _cleanup_close_ int lost = -1, go = -1, theirs = -1, pidfd = -1;
        struct monitor m;
        int pair[2], r;
        pid_t pid;

        if ((r = lost_open(&l->result.container, &lost, err)) < 0 || (r = open_rooms(l, l->monitor->rooms, err)) < 0)
                return r;
        if (pipe2(pair, O_CLOEXEC) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "", "cannot make a pipe for the sandbox's monitor");
        theirs = pair[0], go = pair[1];
        m = describe(l, lost, theirs);
        pid = process_clone(0, -1, &pidfd);
        if (pid == 0) {
                close_fd(&go);
                monitor_main(&m);
        }
        launch_drop_monitor(l);
        if (pid < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, -pid, "", "cannot make the sandbox's monitor");
        if ((r = claim(l, pid, err)) < 0)
                return r;
        if (write(go, "", 1) != 1)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "", "the sandbox's monitor has ended");
        log_debug("%s: process %d samples its limits", l->plan->id, pid);
        return 0;
}
