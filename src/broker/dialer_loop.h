/* The dialer's own half: what it is left with after the split, and its loop. */
#pragma once

#include "broker/dial.h"

struct dialer_process {
        struct dialing dialing;
        int socket, front, signals; /* our end; pidfd of the front; signalfd of what is passed on to it */
};

/* Serves the front until it has ended, then exits with its status. */
__attribute__((noreturn)) void dialer_loop(struct dialer_process *process);
