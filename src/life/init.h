/* The tiny init: process 1 of a sandbox, and of each of its commands. It looks after one process, passes signals on to it, reaps whatever
 * else is left to it, and ends as that process ends; with it the kernel ends all others of its PID namespace.
 *
 * A payload may run beside it as the same user, so there must be nothing to win: it cannot be traced or looked into (not dumpable), has no
 * capability, no descriptor but its signals and a pipe or two, and takes orders from outside of its PID namespace only. */
#pragma once

#include <sys/types.h>

#include "base/error.h"

/* Blocks all signals and collects them; before the process is made that is looked after, so that none is lost. */
int init_collect_signals(int *ret_signals, struct error *err);

/* Becomes that init, with all of its privileges dropped already. Closes every descriptor but SIGNALS, standard streams too: who waits for the
 * end of a stream waits for the payload's copies alone.
 * main   the process to look after, by its number here; 0: there is none, and only signals end this one
 * ended  gets MAIN's status, as wait(2) has it, before this one ends with it: the kernel lets process 1 end only when all others of its PID
 *        namespace are dead. -1: nobody wants to know. Stays open as well
 * watched  a pipe at whose end this one ends, as by SIGKILL; -1: none. Stays open as well
 * Exit status: that process's, or 128 and the signal that ended it. */
__attribute__((noreturn)) void init_serve(int signals, pid_t main, int ended, int watched);
