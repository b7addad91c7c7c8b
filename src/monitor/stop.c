#define _GNU_SOURCE
#include "monitor/stop.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "apply/cgroup_processes.h"
#include "apply/pid_namespace.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/process.h"
#include "base/str.h"
#include "monitor/sample.h"

enum { SWEEPS_MAX = 8 };

void stop_visit(const struct stop *s, void (*visit)(pid_t pid, void *data), void *data) {
        if (s->cgroup >= 0)
                (void)cgroup_processes(s->path, visit, data);
        else
                (void)pid_namespace_processes(s->pid, s->pidfd, visit, data);
}

static void freeze_leaves(const struct stop *s, const char *value) {
        int fd = openat(s->cgroup, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        DIR *leaves = fd < 0 ? NULL : fdopendir(fd);
        char path[300];

        if (!leaves && fd >= 0)
                close(fd);
        for (struct dirent *entry; leaves && (entry = readdir(leaves));) {
                if (entry->d_type != DT_DIR || entry->d_name[0] == '.' || streq(entry->d_name, s->init))
                        continue;
                snprintf(path, sizeof path, "%s/cgroup.freeze", entry->d_name);
                (void)file_write(fd, path, value, 1);
        }
        close_dir(&leaves);
}

/* One round of signals. */
struct sweep {
        const struct stop *s;
        int signal;
        unsigned sent;
};

static void signal_one(pid_t pid, void *data) {
        struct sweep *sweep = data;
        _cleanup_close_ int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);

        if (pidfd < 0 || sample_is_init(sweep->s->proc, pid) || (sweep->signal == SIGSTOP && sample_is_stopped(sweep->s->proc, pid)))
                return;
        if (process_signal(pidfd, sweep->signal) == 0)
                sweep->sent++;
}

static void sweep(const struct stop *s, int signal) {
        struct sweep round = { .s = s, .signal = signal, .sent = 1 };

        for (int n = 0; n < SWEEPS_MAX && round.sent > 0; n++) {
                round.sent = 0;
                stop_visit(s, signal_one, &round);
                if (signal != SIGSTOP)
                        return;
        }
}

void stop_all(struct stop *s) {
        s->stopped = true;
        if (s->cgroup >= 0)
                freeze_leaves(s, "1");
        else
                sweep(s, SIGSTOP);
}

void stop_none(struct stop *s) {
        if (!s->stopped)
                return;
        s->stopped = false;
        if (s->cgroup >= 0)
                freeze_leaves(s, "0");
        else
                sweep(s, SIGCONT);
}
