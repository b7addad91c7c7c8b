/* What the processes of a cgroup have used so far, in the numbers that the kernel keeps of it (cgroup-v2.rst). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum cgroup_use {
        USE_CPU_US,
        USE_USER_US,
        USE_SYSTEM_US,
        USE_THROTTLED_PERIODS,
        USE_THROTTLED_US,
        USE_MEMORY_PEAK,  /* bytes; since Linux 5.19 */
        USE_PIDS_PEAK,    /* since 6.10 */
        USE_OOM_KILLS,    /* processes that were killed in and below it because of a memory limit */
        USE_PIDS_REFUSED, /* how often a fork failed because of pids.max */
        USE_COUNT
};

struct cgroup_usage {
        unsigned has; /* a bit for each: a cgroup without the controller, and an older kernel, do not count everything */
        uint64_t of[USE_COUNT];
};

static inline bool cgroup_usage_has(const struct cgroup_usage *usage, enum cgroup_use use) {
        return usage->has >> use & 1;
}

/* DIR: descriptor of the cgroup's directory. What cannot be read is not there. */
void cgroup_usage_read(int dir, struct cgroup_usage *ret);
