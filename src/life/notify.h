/* sd_notify(3) across the container's border. The program gets a socket of its own in /run/notify, bound in the container's state directory;
 * what it says there goes on to the NOTIFY_SOCKET of the runtime that started it.
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

#define NOTIFY_DIRECTORY "notify" /* in the container's directory */
#define NOTIFY_VARIABLE "NOTIFY_SOCKET=/run/notify/notify.sock"

/* Makes the directory in DIR, the container's, and returns a copy of PLAN with a mount of it. */
int notify_prepare(struct arena *arena, int dir, const struct plan_plan *plan, const struct plan_plan **ret, struct error *err);

/* Binds the socket in DIR, before the program can look for it, and connects to MANAGER: a path, or '@' and an abstract name. */
int notify_open(int dir, const char *manager, struct notify *ret, struct error *err);

/* Passes on one datagram of the program; true once it has said READY=1. */
bool notify_step(struct notify *notify);

/* The program has ended: passes on what it said last. */
void notify_finish(struct notify *notify);

/* Passes on what the program says until it is ready, or has ended. init: pidfd of the container's process. */
void notify_wait(struct notify *notify, int init);

/* Removes the socket and its directory. 0, or a negative errno but for those that are not there. */
int notify_remove(int dir);

void notify_close(struct notify *notify);
#define _cleanup_notify_ __attribute__((cleanup(notify_close)))
