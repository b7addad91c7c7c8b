/* Signal dispositions and masks, which a new program inherits from whoever started us. */
#pragma once

#include <stdbool.h>

#include "base/error.h"

/* Unblocks every signal and gives those that are ignored their default action (execve(2) keeps both). Handlers are not looked at: clone3
 * with CLONE_CLEAR_SIGHAND has none. Reads proc_pid_status(5), so /proc must be the one that sees this process. 0 or a negative errno. */
int signals_reset(void);

/* A signal that should end us, asked for while we wait for something that may never come. */
struct interruption {
        int fd;     /* a signalfd; -1: such signals end us at once, as usual */
        int signal; /* the one that came; 0: none yet */
};
#define INTERRUPTION_NONE { .fd = -1 }

/* Does NUMBER ask us to end? TERM, INT, HUP and QUIT do, but those that our caller wants ignored. */
bool signal_interrupts(int number);

/* Those, which must be blocked. */
int interruption_open(struct interruption *ret, struct error *err);

/* SIGALRM is one of them as well from now on: setitimer(2) is the caller's. */
int interruption_add_alarm(struct interruption *i, struct error *err);

/* Waits until FD can be read, or has hung up: 0. Where such a signal comes first: CODE_INTERRUPTED. I may be NULL: does not wait then. */
int interruption_wait(struct interruption *i, int fd, struct error *err);

/* Has such a signal come? For what takes long without waiting for anything. I may be NULL. 0, or CODE_INTERRUPTED. */
int interruption_check(struct interruption *i, struct error *err);

/* Takes the signal that poll(2) has seen on i->fd. Returns the failure. */
int interruption_take(struct interruption *i, struct error *err);
