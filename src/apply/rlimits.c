#define _GNU_SOURCE
#include "apply/rlimits.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* struct rlimit64 of prlimit64(2); all ones is "no limit" there, as in the plan. */
struct limit {
        uint64_t soft, hard;
};

/* What a process may still open on its way to the program: hooks, the gate, labels. */
enum { FILES_ON_THE_WAY = 32 };

static int set_one(pid_t pid, const struct plan_rlimit *rlimit, struct error *err) {
        const struct limit limit = { rlimit->soft, rlimit->hard };

        if (syscall(SYS_prlimit64, pid, rlimit->resource, &limit, NULL) == 0)
                return 0;
        if (errno == EPERM)
                return fail(err, CODE_LAUNCH_FAILED, EPERM, rlimit->field,
                        "cannot set the hard limit to %llu: that is more than this process has, and CAP_SYS_RESOURCE is missing",
                        (unsigned long long)rlimit->hard);
        return fail_errno(err, CODE_LAUNCH_FAILED, errno, rlimit->field, "cannot set this limit");
}

/* Lowering a limit takes no capability, so that can wait for the last moment; raising it cannot. */
static bool lowers(pid_t pid, const struct plan_rlimit *rlimit) {
        struct limit now;

        return syscall(SYS_prlimit64, pid, rlimit->resource, NULL, &now) == 0 && rlimit->hard <= now.hard;
}

/* Would RLIMIT leave too few descriptors for what is still to do? */
static bool can_wait(pid_t pid, const struct plan_rlimit *rlimit) {
        return rlimit->resource == RLIMIT_NOFILE && rlimit->soft < FILES_ON_THE_WAY && lowers(pid, rlimit);
}

int rlimits_set_of(pid_t pid, const struct plan_process *process, struct error *err) {
        int r;

        for (size_t i = 0; i < process->n_rlimits; i++)
                if (!can_wait(pid, &process->rlimits[i]) && (r = set_one(pid, &process->rlimits[i], err)) < 0)
                        return r;
        return 0;
}

int rlimits_set(const struct plan_process *process, struct error *err) {
        return rlimits_set_of(0, process, err);
}

int rlimits_finish(const struct plan_process *process, struct error *err) {
        int r;

        for (size_t i = 0; i < process->n_rlimits; i++)
                if (process->rlimits[i].resource == RLIMIT_NOFILE && process->rlimits[i].soft < FILES_ON_THE_WAY &&
                    (r = set_one(0, &process->rlimits[i], err)) < 0)
                        return r;
        return 0;
}

int rlimits_set_but_processes(const struct plan_process *process, struct error *err) {
        int r;

        for (size_t i = 0; i < process->n_rlimits; i++) {
                const struct plan_rlimit *rlimit = &process->rlimits[i];

                if (!can_wait(0, rlimit) && !(rlimit->resource == RLIMIT_NPROC && lowers(0, rlimit)) && (r = set_one(0, rlimit, err)) < 0)
                        return r;
        }
        return 0;
}

int rlimits_set_processes(const struct plan_process *process, struct error *err) {
        int r;

        for (size_t i = 0; i < process->n_rlimits; i++)
                if (process->rlimits[i].resource == RLIMIT_NPROC && (r = set_one(0, &process->rlimits[i], err)) < 0)
                        return r;
        return 0;
}
