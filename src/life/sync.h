/* What the runtime and its child say to each other between clone and exec, over one SOCK_SEQPACKET pair.
 *
 * Forward go only tokens: everything the child needs it has from the clone. Back come an error, a descriptor, or "ready".
 * The child's end closes itself at exec: end-of-file without an error means that the payload runs. The runtime's end closes
 * when it dies: the child then ends itself at its next token, so a killed runtime leaves no half-made container. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

enum token {
        TOKEN_MAPPED = 1, /* the id maps are written */
        TOKEN_HOOKED,     /* what happens outside between namespaces and mounts (devices, hooks) has happened; carries the host's pid */
        TOKEN_GO,         /* everything outside is in place: go on to the payload */
        TOKEN_AGAIN,      /* there is room for one more process now */
};

enum report {
        REPORT_ERROR = 1,
        REPORT_UNMAPPED,   /* in a new user namespace; waits for TOKEN_MAPPED */
        REPORT_NAMESPACES, /* joined and made; waits for TOKEN_HOOKED */
        REPORT_BORN,       /* from the process that goes on in the child's place; or from the child, with why there is none: awaits TOKEN_AGAIN */
        REPORT_CONSOLE,    /* carries the terminal's master */
        REPORT_LISTENER,   /* carries the seccomp notify descriptor */
        REPORT_NOTIFY,     /* carries the program's notify socket (notify.h) */
        REPORT_READY,      /* set up; waits for TOKEN_GO and, after `create`, for `start` */
        REPORT_EXEC,       /* the next thing is the exec: end of file now means that the payload runs */
        REPORT_GONE,       /* never sent: the end of file itself */
};

struct sync { int runtime, child; };
#define SYNC_CLOSED { .runtime = -1, .child = -1 }

int sync_open(struct sync *ret, struct error *err);
void sync_close(struct sync *sync);
#define _cleanup_sync_ __attribute__((cleanup(sync_close)))

/* The runtime's side. A child that is gone already is no failure here: its last report says why. */
int sync_tell(int runtime, enum token token, pid_t pid, struct error *err);
/* Of what is sent from now on sync_hear() can tell who sent it. */
int sync_ask_pids(int runtime, struct error *err);
/* Waits for the next report. ret_fd: the descriptor it carried, or -1. ret_pid: of REPORT_BORN, the pid of who sent it, as the kernel has it,
 * or a negative errno. REPORT_ERROR: its errno is returned, ERR is the child's. */
int sync_hear(int runtime, enum report *ret, int *ret_fd, pid_t *ret_pid, struct error *err);

/* The child's side. */
int sync_report(int child, enum report report, int fd);
int sync_report_born(int child, int why_not);
void sync_report_error(int child, const struct error *err);
/* Ends the process when the runtime is gone. Returns the pid that came along. */
pid_t sync_await(int child, enum token token);
