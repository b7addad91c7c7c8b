#define _GNU_SOURCE
#include "apply/affinity.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* NR_CPUS is at most 8,192 (arch/x86/Kconfig, MAXSMP). The kernel drops the bits that it has no CPU for, and clears those that it is
 * not told (sched_setaffinity(2)). */
enum { ALL_CPUS_BYTES = 8192 / 8 };

/* 65,536 CPUs, the most that the plan may name (plan/cpu_list.h). */
enum { MASK_BYTES = 65536 / 8 };

/* The raw call: glibc's cpu_set_t ends at 1,024. */
static int set_mask(pid_t pid, const unsigned char *mask, size_t size) {
        return syscall(SYS_sched_setaffinity, pid, size, mask) < 0 ? -errno : 0;
}

int affinity_reset(pid_t pid, struct error *err) {
        unsigned char mask[ALL_CPUS_BYTES];
        int r;

        memset(mask, 0xff, sizeof mask);
        r = set_mask(pid, mask, sizeof mask);
        return r < 0 ? fail_errno(err, CODE_LAUNCH_FAILED, -r, "", "cannot take the runtime's CPU affinity off the container's process")
                     : 0;
}

static int set_ranges(pid_t pid, const struct plan_range *ranges, size_t n, const char *field, struct error *err) {
        unsigned char mask[MASK_BYTES] = { 0 };
        size_t bytes = sizeof(long);
        int r;

        for (size_t i = 0; i < n; i++) {
                for (uint32_t cpu = ranges[i].first; cpu <= ranges[i].last && cpu / 8 < sizeof mask; cpu++)
                        mask[cpu / 8] |= (unsigned char)(1u << cpu % 8);
                while (bytes <= ranges[i].last / 8 && bytes < sizeof mask)
                        bytes += sizeof(long);
        }
        r = set_mask(pid, mask, bytes);
        if (r == -EINVAL)
                return fail(err, CODE_CAPABILITY_UNSUPPORTED, EINVAL, field, "this host and the cgroup allow none of these CPUs");
        return r < 0 ? fail_errno(err, CODE_LAUNCH_FAILED, -r, field, "cannot set the CPU affinity") : 0;
}

int affinity_begin(const struct plan_process *process, struct error *err) {
        const struct plan_exec_affinity *affinity = process->exec_affinity;

        if (!affinity || affinity->n_initial == 0)
                return 0;
        return set_ranges(0, affinity->initial, affinity->n_initial, "process.execCPUAffinity.initial", err);
}

int affinity_finish(pid_t pid, const struct plan_process *process, struct error *err) {
        const struct plan_exec_affinity *affinity = process->exec_affinity;

        if (!affinity)
                return affinity_reset(pid, err);
        if (affinity->n_final == 0) /* config.md: "the final affinity is determined by the Linux kernel" */
                return 0;
        return set_ranges(pid, affinity->final, affinity->n_final, "process.execCPUAffinity.final", err);
}
