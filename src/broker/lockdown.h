/* What the processes of the broker give up. Each is a table of the system calls that it still needs, and everything else kills it (the
 * front) or fails with EPERM (the dialer and its helpers, whose libraries differ with the host). */
#pragma once

#include "base/error.h"
#include "broker/dialer.h"

#define LOCKDOWN_KEEP_MAX 64

/* What both processes give up, while they are still one: capabilities that could be had again, core dumps. Called by dialer_start(). */
int lockdown_before_split(struct error *err);

/* The last step of the front before its loop; all descriptors it will ever need are open, or come to it by accept4(2) and SCM_RIGHTS.
 * Afterwards it has the dialer's uid or its own, no capabilities, no_new_privs, an empty read-only root where it has a mount namespace of
 * its own, no access to any file system (Landlock), no core dumps, is not dumpable, and may call what is in front_calls (lockdown.c): read,
 * write, send and receive, splice and pipes, epoll, timerfd, accept, the socket options that are listed there, ftruncate, lseek and fsync on
 * what it holds, memory, clocks, exit. No open, no socket, connect, bind or listen, no exec, clone, kill, ptrace, mount.
 *
 * Reports too what kept the dialer from getting ready (dialer_await()).
 *
 * keep: the N descriptors it keeps beside 0, 1, 2 and the dialer's socket; -1 stands for none. */
int lockdown_front(const struct dialer *dialer, const int *keep, size_t n, struct error *err);

/* The dialer's, called by dialer_start() in the process that stays behind. It keeps the host's pid, mount and network namespaces, in which its
 * helpers look names up and connect. */
int lockdown_dialer(const struct dialer_options *options, struct error *err);

/* What this host did not give to the front, as words for a warning ("pid namespace, Landlock"), or NULL; valid after lockdown_front(). */
const char *lockdown_missing(void);
