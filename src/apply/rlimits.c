#define _GNU_SOURCE
#include "apply/rlimits.h"

#include <errno.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* struct rlimit64 of prlimit64(2); all ones is "no limit" there, as in the plan. */
struct limit {
        uint64_t soft, hard;
};

int rlimits_set_of(pid_t pid, const struct plan_process *process, struct error *err) {
        for (size_t i = 0; i < process->n_rlimits; i++) {
                const struct plan_rlimit *rlimit = &process->rlimits[i];
                const struct limit limit = { rlimit->soft, rlimit->hard };

                if (syscall(SYS_prlimit64, pid, rlimit->resource, &limit, NULL) == 0)
                        continue;
                if (errno == EPERM)
                        return fail(err, CODE_LAUNCH_FAILED, EPERM, rlimit->field,
                                "cannot set the hard limit to %llu: that is more than this process has, and CAP_SYS_RESOURCE is missing",
                                (unsigned long long)rlimit->hard);
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, rlimit->field, "cannot set this limit");
        }
        return 0;
}

int rlimits_set(const struct plan_process *process, struct error *err) {
        return rlimits_set_of(0, process, err);
}
