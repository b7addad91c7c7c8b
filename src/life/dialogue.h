/* The runtime's side of the talk with a child that is on its way to exec (sync.h): create and run, exec, and start share it. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/signals.h"
#include "life/state.h"
#include "life/sync.h"

struct dialogue {
        int socket;                             /* our end */
        struct interruption *interruption;      /* of the waiting; NULL: none */
        const char *console_socket;             /* where a terminal's master goes; NULL: it is kept in CONSOLE */
        const struct container *container;      /* for its memory limit, which may have ended the child, and for the listener's receiver */
        const struct plan_filter *filter;       /* whose listener goes to its listenerPath; NULL: there is none */
        struct arena *arena;                    /* for that */
        pid_t pid;                              /* of the child, on the host */
        pid_t born;                             /* who said REPORT_BORN, or why there is nobody */
        int console;                            /* -1 until a master came that stays here; the owner closes it */
        int notify;                             /* -1 until the program's notify socket came; the owner closes it */
        bool executing;
};

/* Takes what the child says until it says UNTIL. Its error is returned as ours. REPORT_GONE as UNTIL means: until its program runs.
 * A child that ends without a word is CODE_LAUNCH_FAILED, or CODE_RESOURCE_EXHAUSTED where its cgroup ran out of memory. */
int dialogue_until(struct dialogue *dialogue, enum report until, struct error *err);
