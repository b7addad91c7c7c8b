/* exec: one more process in a running container, made with one clone. Where somebody in there may trace it, with two (an usher, join.c);
 * in both cases there need be room for one process only. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "apply/output_relay.h"
#include "base/arena.h"
#include "base/error.h"
#include "life/activation.h"
#include "life/command_cgroup.h"
#include "life/guard.h"
#include "life/state.h"
#include "spec/plan.h"

struct child;

struct join_request {
        const char *root;                   /* --root */
        const struct plan_plan *plan;       /* of the container */
        const struct plan_process *process; /* what to run */
        const struct filter_program *filter;
        const char *cgroup;                 /* --cgroup: below the container's own cgroup; NULL: in it */
        const char *console_socket, *pid_file, *pidfd_socket;
        struct interruption *interruption; /* NULL: signals end us at once */
        bool unlocked;                      /* the container is: others may change it meanwhile */
        const struct command_cgroup *own;   /* the cgroup to run in, in place of the others; NULL: none */
        struct guard *guard;                /* told of the process before its program runs; NULL: none */
        const struct output_relay *output;  /* its standard output and error; NULL: ours */
        unsigned preserve_fds;              /* the descriptors of ACTIVATION among them */
        struct activation activation;

        /* Of a sandbox (plan->sandbox) alone. */
        bool detached;                      /* nobody of us waits for its end; otherwise the command ends when this process does, but for FIRST */
        struct child *first;                /* the bundle's own process: what else belongs to it, of a launch under way; NULL: an exec */
        int (*ready)(void *data, pid_t pid, struct error *err); /* called when all is in place, before the program runs; or NULL */
        void *ready_data;
};

struct joined {
        pid_t pid;        /* of the program; in a sandbox, of its init, which has its exit status */
        int pidfd;        /* -1 for the bundle's process in a sandbox, which is not our child */
        int console;
        bool sandboxed;
        const char *leaf; /* in a sandbox: the command's own cgroup, absolute; NULL: none */
        int ended;        /* in a sandbox: for struct foreground; -1: none, or nobody of us waits for it */
};
#define JOINED_NOTHING { .pidfd = -1, .console = -1, .ended = -1 }

#define JOIN_END_MS 2000 /* how long join_end() waits */

/* The namespaces (CLONE_ flags) that a process of ours joins to be where INIT, the container's process, is: all that were made or joined for
 * it, but a user namespace that we are in ourselves. */
uint64_t join_namespaces(const struct plan_namespaces *namespaces, pid_t init);

/* init: pidfd of the container's process. CONTAINER is locked unless it is paused; its status is saved when a process comes in that others
 * have to be protected from. Returns once the program has been executed. */
int join(struct arena *arena, struct container *container, int init, const struct join_request *request, struct joined *ret, struct error *err);

/* Ends a command of a sandbox whose program has ended, or shall: kills its init, and whatever else is in its leaf, and removes that. Nothing
 * to do for any other process. CODE_LOST when something does not die within two seconds, which is then written to the status of ID, if that
 * is not locked by us: such a sandbox takes no more commands. */
int join_end(struct arena *arena, const char *root, const char *id, struct joined *joined, struct error *err);
void joined_close(struct joined *joined);
#define _cleanup_joined_ __attribute__((cleanup(joined_close)))
