/* The last steps before a program of the container runs: the same for the bundle's process and for exec. */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"
#include "plan/filter.h"
#include "spec/plan.h"

enum {
        PAYLOAD_ENV_MORE = 5, /* HOME, LISTEN_FDS, LISTEN_PID, LISTEN_FDNAMES, NOTIFY_SOCKET */
        PAYLOAD_LISTEN_PID_SIZE = sizeof "LISTEN_PID=" + 10,
};

struct payload {
        const struct plan_plan *plan;        /* of the container around it */
        const struct plan_process *process;
        const char **env;                    /* the process's, with free places for PAYLOAD_ENV_MORE before the last NULL */
        size_t n_env;
        char *listen_pid;                    /* "LISTEN_PID=" in PAYLOAD_LISTEN_PID_SIZE bytes, one of env, to be finished late; or NULL */
        const struct filter_program *filter; /* the bundle's; NULL: none */
        struct filter_program own_filter;    /* what its sandbox's rules come to (plan/payload_filter.h); of 0 instructions: nothing */
        char program[4096];                  /* found late: PATH means the container's */
        bool cwd_later;                      /* only the payload's identity may enter it */
        int proc;                            /* the host's procfs, for the labels; -1: none is asked for */
};

/* In the parent: all memory the child will need.
 * process: PLAN's own, or one that joins the container
 * filter: the seccomp program of PLAN's filter, or NULL */
void payload_prepare(struct arena *arena, const struct plan_plan *plan, const struct plan_process *process,
                     const struct filter_program *filter, struct payload *ret);

/* In the parent: one more variable, NAME=VALUE, which must live as long as the payload. False where the environment has one of that name. */
bool payload_add_variable(struct payload *payload, const char *variable);

/* In the child, while /proc is still the host's: no signal is blocked or ignored because our caller did so, and /proc is kept for the
 * labels, which are set last. */
int payload_begin(struct payload *payload, struct error *err);

/* In the child, inside the container's root, still privileged: the personality, and HOME, cwd and the program, the three
 * things that only the container's own files can tell. CODE_EXECUTABLE_UNAVAILABLE with the words that engines turn into 126 and 127. */
int payload_settle(struct payload *payload, struct error *err);

/* In a process that joins the container, inside its root and still privileged: makes the terminal that the process asks for, and hands its
 * master over (REPORT_CONSOLE). ret_slave: untouched where none is asked for. */
int payload_open_terminal(const struct payload *payload, int sync, int *ret_slave, struct error *err);

/* Looks for the program once more: what an usher looked up as /proc/self is nobody's in the container's proc. */
int payload_find_program(struct payload *payload, struct error *err);

/* Drops to the payload's labels, identity and capabilities, and puts the filters on where that takes a privilege which goes with them. SYNC
 * gets the seccomp listener, if the bundle's filter has one. */
int payload_drop(struct payload *payload, int sync, struct error *err);
/* Executes the program; returns only on failure. Needs no privilege, and may be called in a process that was forked after
 * payload_drop(). SYNC is told just before (REPORT_EXEC), and gets the listener of a filter that comes now. */
int payload_execute(struct payload *payload, int sync, struct error *err);
/* Both. */
int payload_exec(struct payload *payload, int sync, struct error *err);

/* Does a process go on being able to fork after payload_drop(), as far as the filters are concerned? Or to wait at the gate of a created
 * container, and then to go on as if it had not? */
bool payload_may_fork(const struct payload *payload);
bool payload_may_wait(const struct payload *payload);
