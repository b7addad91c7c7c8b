/* Brings a planned container to life: claims, cgroup, clone, hooks, and the talk with the child until the payload runs or waits. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "apply/output_relay.h"
#include "base/arena.h"
#include "base/error.h"
#include "life/activation.h"
#include "life/guard.h"
#include "life/notify.h"
#include "life/state.h"
#include "spec/plan.h"

struct launch_request {
        const struct plan_plan *plan;
        const char *root;           /* --root */
        const char *console_socket; /* NULL: the master comes back in struct launched */
        const char *pid_file, *pidfd_socket;
        unsigned preserve_fds;      /* --preserve-fds and the descriptors of ACTIVATION together, from 3 on */
        struct activation activation;
        bool wait_for_start;        /* create: the payload waits for `start` */
        struct interruption *interruption; /* NULL: signals end us at once */
        bool dies_with_us;          /* of a sandbox: it ends when this process does, whatever ends that */
        bool detach;                /* run: with a service manager to notify, until the payload says that it is ready */
        struct guard *guard;        /* told of the container's process before its program runs; NULL: none */
        const struct output_relay *output; /* the program's standard output and error; NULL: ours */
};

struct launched {
        struct container container; /* open; locked only if wait_for_start */
        pid_t pid;
        int pidfd;
        int console;                /* master of the terminal, or -1 */
        int ended;                  /* of a sandbox's program, for struct foreground; or -1 */
        struct notify notify;       /* to be relayed while the runtime stays */
};
#define LAUNCHED_NOTHING { .container = CONTAINER_CLOSED, .pidfd = -1, .console = -1, .ended = -1, .notify = NOTIFY_NONE }

/* On failure everything that was acquired has been released again (err->effect says if that failed). */
int launch(struct arena *arena, const struct launch_request *request, struct launched *ret, struct error *err);
void launched_close(struct launched *launched);
#define _cleanup_launched_ __attribute__((cleanup(launched_close)))
