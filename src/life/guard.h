/* The guard: a process of ours that stays on the host beside a supervised command, and ends the command when the runtime that supervises it
 * is killed, or asks that one to end when its caller is gone (--die-with-parent).
 *
 * It is told of the command by its pidfd and cgroup, so nothing that the command does keeps it from that: a process can take back what
 * prctl(2) PR_SET_PDEATHSIG arranged, and its children never had it. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

struct guard {
        int pidfd;  /* of the guard; -1: there is none */
        int socket; /* the command goes there; -1 afterwards */
};
#define GUARD_NONE \
        { .pidfd = -1, .socket = -1 }

/* Before anything of the command is there, and before the runtime joins namespaces of it. All signals must be blocked.
 * caller: who our parent was (getppid(2)) when this process began */
int guard_begin(struct guard *ret, pid_t caller, struct error *err);

/* Before the command's program runs. cgroup: a directory all of whose processes are the command's, or -1. Both stay the
 * caller's. GUARD may be NULL, or GUARD_NONE. */
int guard_tell_it(struct guard *guard, int command, int cgroup, struct error *err);
static inline int guard_tell(struct guard *guard, int command, int cgroup, struct error *err) {
        return guard && guard->socket >= 0 ? guard_tell_it(guard, command, cgroup, err) : 0;
}

/* The command has ended. */
void guard_end(struct guard *guard);
#define _cleanup_guard_ __attribute__((cleanup(guard_end)))
