#define _GNU_SOURCE
#include "monitor/monitor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "apply/cgroup.h"
#include "apply/cgroup_file.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/process.h"
#include "base/str.h"
#include "base/time.h"
#include "monitor/lockdown.h"
#include "monitor/sample.h"
#include "monitor/throttle.h"
#include "monitor/volume.h"

enum {
        STEP_MS = 20,           /* between two looks at CPU time */
        IDLE_STEP_MS = 100,     /* the same while none is used */
        SAMPLE_US = 100 * 1000, /* between two looks at every process */
        DISK_US = 1000 * 1000,  /* between two walks, and at least so many times what a walk takes: */
        DISK_SHARE = 20,
        WALK_US = 30 * 1000 * 1000, /* for one walk; who has that many files does not come near it */
        TOPS_MAX = 64,
        DYING_MS = 5000,
};

struct watch {
        struct monitor *m;
        struct throttle throttle;
        uint64_t now_us, last_us, cpu_us; /* times; CPU that was used by the last look */
        uint64_t sample_us, disk_us;      /* when the next look is due */
        uint64_t look_us;                 /* the same, while the disk is measured */
        uint64_t walk_us;                 /* when that began */
        bool still;                       /* nothing runs until the disk is measured */
        struct sample sample;
};

static void add_one(pid_t pid, void *data) {
        struct watch *w = data;

        sample_add(w->m->stop.proc, pid, &w->sample);
}

static void sample(struct watch *w) {
        w->sample = (struct sample){ 0 };
        stop_visit(&w->m->stop, add_one, w);
        w->sample_us = w->now_us + SAMPLE_US;
}

/* CPU time so far: what the cgroup counted, with all that have ended; else of those that live. */
static uint64_t cpu_time(struct watch *w) {
        static const char key[] = "usage_usec ";
        char text[CGROUP_FILE_SIZE];
        const char *at;

        if (w->m->stop.cgroup < 0)
                return w->sample.cpu_us;
        if (cgroup_file_read(w->m->stop.cgroup, "cpu.stat", text) < 0 || !(at = strstr(text, key)))
                return w->cpu_us;
        return strtoull(at + sizeof key - 1, NULL, 10);
}

/* ---- the end ---- */

__attribute__((noreturn)) static void leave(struct watch *w) {
        stop_none(&w->m->stop);
        _exit(0);
}

/* Says why first: whoever finds the sandbox dead finds the reason. */
__attribute__((noreturn)) static void end_sandbox(struct watch *w, const char *limit, uint64_t used, uint64_t allowed) {
        struct error ignored;
        char text[96];
        int n = snprintf(text, sizeof text, "%s %llu %llu\n", limit, (unsigned long long)used, (unsigned long long)allowed);

        (void)file_write_all(w->m->lost, text, (size_t)n);
        if (w->m->stop.cgroup >= 0)
                (void)cgroup_kill(w->m->stop.cgroup, &ignored);
        (void)process_signal(w->m->stop.pidfd, SIGKILL);
        (void)process_wait_end(w->m->stop.pidfd, DYING_MS);
        _exit(0);
}

/* ---- the loop ---- */

static void check(struct watch *w, const char *limit, uint64_t used, uint64_t allowed) {
        if (allowed && used > allowed)
                end_sandbox(w, limit, used, allowed);
}

/* Returns for how many microseconds nothing may run. */
static uint64_t account(struct watch *w, uint64_t *ret_used) {
        uint64_t cpu = cpu_time(w), used = cpu > w->cpu_us ? cpu - w->cpu_us : 0, pause;

        *ret_used = used;
        w->cpu_us = cpu;
        if (w->throttle.rate == 0)
                return 0;
        pause = throttle_account(&w->throttle, w->now_us - w->last_us, used);
        w->last_us = w->now_us;
        return pause;
}

/* A look at all but the disk. Returns for how many milliseconds that holds. */
static int look(struct watch *w) {
        uint64_t pause, used;
        int ms;

        w->now_us = time_monotonic_us();
        if (w->now_us >= w->sample_us) {
                sample(w);
                check(w, "memory", w->sample.memory_bytes, w->m->memory_bytes);
                check(w, "process_count", w->sample.tasks, w->m->tasks);
        }
        pause = account(w, &used);
        if (pause || w->still)
                stop_all(&w->m->stop);
        else
                stop_none(&w->m->stop);
        ms = pause ? (int)(pause / 1000) + 1 : used ? STEP_MS : IDLE_STEP_MS;
        ms = ms < IDLE_STEP_MS ? ms : IDLE_STEP_MS;
        w->look_us = w->now_us + 1000 * (uint64_t)ms;
        return ms;
}

/* /tmp and /dev/shm are of the disk, too, where no project counts them. */
static void check_bytes(struct watch *w, uint64_t bytes) {
        for (int i = 0; i < MONITOR_ROOMS; i++)
                if (w->m->rooms[i] >= 0)
                        bytes += volume_used(w->m->rooms[i]);
        check(w, "disk", bytes, w->m->disk_bytes);
}

/* While the disk is measured: whoever makes that long is looked at all the same, and what is too much is too much before the end. */
static int look_meanwhile(uint64_t bytes, void *data) {
        struct watch *w = data;
        uint64_t now = time_monotonic_us();

        check_bytes(w, bytes);
        if (now >= w->look_us)
                (void)look(w);
        return !w->still && now - w->walk_us > WALK_US ? -ESTALE : 0;
}

/* Whoever moves directories about can lead a walk astray, or on and on. So where one was, the next finds all of them standing still. */
static void check_disk(struct watch *w) {
        uint64_t bytes = 0, share;
        int r;

        if (!w->m->disk_bytes || w->now_us < w->disk_us)
                return;
        w->walk_us = w->now_us;
        r = volume_measure(w->m->tops, w->m->n_tops, look_meanwhile, w, &bytes);
        check_bytes(w, bytes);
        w->now_us = time_monotonic_us();
        share = DISK_SHARE * (w->now_us - w->walk_us);
        w->disk_us = w->now_us + (share > DISK_US ? share : DISK_US);
        if (r == -ESTALE && !w->still)
                w->disk_us = w->now_us;
        w->still = r == -ESTALE && !w->still;
}

static int step(struct watch *w) {
        int ms = look(w);
        uint64_t walk_us = w->walk_us;

        check_disk(w);
        return w->walk_us == walk_us ? ms : 1; /* it may have taken longer than that */
}

static void watch(struct monitor *m) {
        struct watch w = { .m = m, .now_us = time_monotonic_us() };

        w.last_us = w.now_us;
        if (m->cpu_percent > 0)
                w.throttle.rate = throttle_rate(m->cpu_percent);
        sample(&w);
        w.cpu_us = cpu_time(&w);
        for (;;) {
                int r = process_wait_end(m->stop.pidfd, step(&w));

                if (r == 0)
                        leave(&w);
                if (r != -ETIMEDOUT)
                        _exit(1);
        }
}

/* ---- the beginning ---- */

static void await_go(int go) {
        char byte;
        ssize_t n;

        do
                n = read(go, &byte, 1);
        while (n < 0 && errno == EINTR);
        if (n != 1)
                _exit(0);
        close(go);
}

void monitor_main(struct monitor *m) {
        int kept[6 + MONITOR_ROOMS + TOPS_MAX];
        struct error ignored;
        size_t n = 0;

        (void)setsid();
        (void)prctl(PR_SET_NAME, "sage-monitor");
        await_go(m->go);
        m->stop.proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        kept[n++] = m->stop.proc;
        kept[n++] = m->stop.pidfd;
        if (m->stop.cgroup >= 0)
                kept[n++] = m->stop.cgroup;
        kept[n++] = m->lost;
        kept[n++] = m->alive;
        for (int i = 0; i < MONITOR_ROOMS; i++)
                if (m->rooms[i] >= 0)
                        kept[n++] = m->rooms[i];
        for (size_t i = 0; i < m->n_tops && i < TOPS_MAX; i++)
                kept[n++] = m->tops[i];
        if (m->stop.proc < 0 || m->n_tops > TOPS_MAX || fd_keep_only(0, kept, n) < 0 || fd_reserve(0, 3) < 0 ||
                lockdown(m->stop.cgroup, &ignored) < 0)
                _exit(1);
        watch(m);
        _exit(1);
}
