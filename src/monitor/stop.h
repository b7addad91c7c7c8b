/* The processes of a sandbox, all at once: looked at, stopped for a while, and let go on. Its process 1, which is ours, is never stopped: it
 * ends the sandbox when the monitor is gone, and could not if it stood still.
 *
 * With a cgroup that is cgroup.freeze of the leaf of each command: it holds what forks meanwhile, and no process can tell. Without one it is
 * SIGSTOP for every process but the inits of commands, again until none is found that runs; a program that stops and continues others itself
 * (a shell's job control) may be confused by it. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct stop {
        int cgroup;       /* directory, of the sandbox; -1: there is none */
        const char *path; /* that, absolute, on the host */
        const char *init; /* the leaf of process 1 in there */
        int proc;         /* directory /proc */
        pid_t pid;        /* of the sandbox's process 1 */
        int pidfd;
        bool stopped;
};

void stop_visit(const struct stop *s, void (*visit)(pid_t pid, void *data), void *data);

/* May be called again: what came in meanwhile is stopped, too. */
void stop_all(struct stop *s);
void stop_none(struct stop *s);
