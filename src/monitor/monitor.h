/* The monitor: one process of ours for each sandbox whose limits no cgroup or quota keeps. It samples what the sandbox uses, has its processes
 * stand still where they have used more CPU than they may, and ends it when it uses more memory, processes or disk; then the sandbox is lost.
 * It lives on the host, where nothing in the sandbox can name it, holds nothing but what it watches, and is locked down. The sandbox's process 1
 * has the other end of a pipe of it, and ends when the monitor does. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "monitor/stop.h"

enum { MONITOR_ROOMS = 2 };

struct monitor {
        struct stop stop; /* the sandbox's processes */
        /* What it may use; 0: that is not sampled. */
        double cpu_percent;
        uint64_t memory_bytes, tasks, disk_bytes;
        const int *tops; /* directories whose files count */
        size_t n_tops;
        int rooms[MONITOR_ROOMS]; /* each on a tmpfs of the sandbox's own, all of which counts; -1: there is none */
        int lost;  /* file that gets the reason: "memory 123 100\n", in the words of result.json's limits, what is used, what may be */
        int go;    /* a byte comes here when the monitor may begin; its end before that: it is not wanted any more */
        int alive; /* open as long as the monitor lives */
};

/* In a process of its own, made for it. What it needs of descriptors is in M; it closes all others. */
__attribute__((noreturn)) void monitor_main(struct monitor *m);
