/* exec: one more process in a running container, made with one clone. Where somebody in there may trace it, with two (an usher, join.c);
 * in both cases there need be room for one process only. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/error.h"
#include "life/activation.h"
#include "life/state.h"
#include "spec/plan.h"

struct join_request {
        const char *root;                   /* --root */
        const struct plan_plan *plan;       /* of the container */
        const struct plan_process *process; /* what to run */
        const struct filter_program *filter;
        const char *cgroup;                 /* --cgroup: below the container's own cgroup; NULL: in it */
        const char *console_socket, *pid_file, *pidfd_socket;
        struct interruption *interruption; /* NULL: signals end us at once */
        bool unlocked;                      /* the container is: others may change it meanwhile */
        unsigned preserve_fds;              /* the descriptors of ACTIVATION among them */
        struct activation activation;
};

struct joined {
        pid_t pid;
        int pidfd;
        int console;
};
#define JOINED_NOTHING { .pidfd = -1, .console = -1 }

/* The namespaces (CLONE_ flags) that a process of ours joins to be where INIT, the container's process, is: all that were made or joined for
 * it, but a user namespace that we are in ourselves. */
uint64_t join_namespaces(const struct plan_namespaces *namespaces, pid_t init);

/* init: pidfd of the container's process. CONTAINER is locked unless it is paused; its status is saved when a process comes in that others
 * have to be protected from. Returns once the program has been executed. */
int join(struct arena *arena, struct container *container, int init, const struct join_request *request, struct joined *ret, struct error *err);
void joined_close(struct joined *joined);
#define _cleanup_joined_ __attribute__((cleanup(joined_close)))
