/* The foreground: the runtime stays with a process of a container, passes signals and terminal traffic on, and takes its status. */
#pragma once

#include <signal.h>

#include "apply/terminal.h"
#include "base/error.h"
#include "base/signals.h"
#include "life/notify.h"

struct foreground {
        int signals;   /* signalfd */
        sigset_t mask; /* what the caller's mask was: the payload gets it back */
        struct interruption interruption; /* for the time until there is a payload to pass signals to */
        int ended; /* of a sandbox's command: readable, or at its end, when the program has ended; its init follows unless something does not die.
                    * -1: it is its own init. Ours to close */
};
#define FOREGROUND_NOT { .signals = -1, .interruption = INTERRUPTION_NONE, .ended = -1 }

/* How long processes that were killed may take to die, until they are lost. */
#define FOREGROUND_DYING_MS 2000

/* Blocks all signals and collects them, before the process is made: none may get lost between. */
int foreground_begin(struct foreground *ret, struct error *err);
void foreground_end(struct foreground *foreground);
#define _cleanup_foreground_ __attribute__((cleanup(foreground_end)))

/* Passes one of those signals on to the process PIDFD, where it is not about ourselves or the terminal (RELAY may be NULL). */
void foreground_pass_signal(int pidfd, struct terminal_relay *relay, int signal);

/* Waits for the child PIDFD to end, forwarding signals to it and, if CONSOLE >= 0, relaying between that terminal master and our
 * own stdio, and passing on to the service manager what it says (NOTIFY may be NULL). ret_status: its exit code, or 128 + signal. CODE_LOST when
 * it cannot end after foreground->ended. */
int foreground_wait(struct foreground *foreground, int pidfd, int console, struct notify *notify, int *ret_status, struct error *err);
