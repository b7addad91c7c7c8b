/* sd_notify(3) across the container's border. The program gets a socket of its own in /run/notify; what it says there goes on to the
 * NOTIFY_SOCKET of the runtime that started it.
 *
 * /run/notify is a tmpfs with room for this one socket. It belongs to the container's mount namespace and ends with it: whatever a container
 * that may mount does to it lies neither on the host nor in anybody's way who deletes it. The child binds the socket and hands it over
 * (REPORT_NOTIFY), at the gate where the program waits for `start`.
 *
 * The program is not trusted with the service manager's socket itself: only assignments that speak of its own condition pass (notify.c has
 * them), and MAINPID is ours to say, because the pids that the program knows are its namespace's. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/error.h"
#include "spec/plan.h"

struct notify {
        int inside;     /* what the program says, from the receiver; -1: there is no relay */
        int bound;      /* what the program writes to */
        int receiver;   /* pidfd (notify_receiver.h) */
        int outside;    /* connected to the service manager */
        pid_t main_pid; /* told along with READY=1; 0: the runtime itself stays the service's main process */
};
#define NOTIFY_NONE \
        { .inside = -1, .bound = -1, .receiver = -1, .outside = -1 }

#define NOTIFY_DIRECTORY "/run/notify"
#define NOTIFY_VARIABLE "NOTIFY_SOCKET=" NOTIFY_DIRECTORY "/notify.sock"

/* A copy of PLAN with a mount for the socket. */
const struct plan_plan *notify_mount(struct arena *arena, const struct plan_plan *plan);

/* In the child, after mounts_attach() and before mounts_finish(), which makes the place of it read-only. The working directory is there
 * afterwards. */
int notify_bind(int root, int *ret, struct error *err);

/* Connects to MANAGER: a path, or '@' and an abstract name. */
int notify_connect(const char *manager, struct notify *ret, struct error *err);

/* Begins to listen to BOUND, which is taken: what notify_bind() made. Where one is -1 or nobody is connected, there is nothing to relay. */
int notify_begin(struct notify *notify, int *bound, struct error *err);

/* Passes on one datagram of the program; true once it has said READY=1. */
bool notify_step(struct notify *notify);

/* The program has ended: passes on what it said last. */
void notify_finish(struct notify *notify);

/* Passes on what the program says until it is ready, or has ended. init: pidfd of the container's process. */
void notify_wait(struct notify *notify, int init);

void notify_close(struct notify *notify);
#define _cleanup_notify_ __attribute__((cleanup(notify_close)))
