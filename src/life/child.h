/* The child between clone and exec: it becomes the container's first process. It parses nothing and computes nothing that the
 * parent could have; what it does is the plan, in order. */
#pragma once

#include "apply/hooks.h"
#include "apply/namespaces.h"
#include "apply/output_relay.h"
#include "life/payload.h"
#include "life/sync.h"
#include "spec/plan.h"

/* The state document for hooks that run inside: made by the parent, in which only the pid is filled in later. */
struct hook_document { char *text, *pid; size_t size; };

enum { HOOK_PID_DIGITS = 10 };

struct child {
        const struct plan_plan *plan;
        struct namespace_joins joins;
        struct sync sync;
        struct payload payload;
        struct hook_document creating, created; /* "status" of createContainer and of startContainer hooks */
        struct hook_output hook_output;
        int *kept;                              /* the descriptors that the child needs; all others from first_kept on it closes */
        size_t n_kept;
        unsigned first_kept;
        int host[3];                            /* directories of the runtime's: of the state, with its lock, and the cgroup */
        int nodes;                              /* the tree that dev_nodes_make() made, or -1 */
        int *devices;                           /* room for what is taken from it, or NULL */
        int *sources;                           /* trees for mounts that only the parent could open (mounts.h), or NULL */
        const struct output_relay *output;      /* the program's standard output and error; NULL: ours */
        bool rendezvous;                        /* hooks or network devices want the namespaces ready before anything is mounted */
        bool documented;                        /* there are hooks, for which the documents above are made */
        bool owned_by_user;                     /* the runtime is not root */
        bool userns;                            /* there is one that is not the runtime's */
        bool exposed;                           /* others are in its pid namespace, and no user namespace is between */
        bool unmapped;                          /* the parent writes its id maps first */
        bool new_network;
        bool dies_with_us;                      /* of a sandbox: process 1 ends when the runtime does, and all else with it */
        bool notifies;                          /* the program gets a notify socket */
        int notify;                             /* that */
        int monitor;                            /* of a sandbox: ends when its monitor does; -1: it has none */
        int gate;                               /* listening socket that `start` connects to; -1: go on at once */
};

/* Fills the pid into DOCUMENT, right-aligned: JSON allows blanks before a number. */
void hook_document_set_pid(struct hook_document *document, pid_t pid);

/* Why there is no child of PLAN, whose clone3(2) gave R, a negative errno. */
int child_not_made(const struct plan_plan *plan, int r, struct error *err);

/* The parts of it that the first command of a sandbox shares (command_init.h). Signals that end a process that nobody has started yet; after
 * `create`: sleeps until `start` connects, which then hears on this connection, child->sync.child from then on, what the launch would have
 * heard; the startContainer hooks. */
void child_heed_signals(void);
int child_await_start(struct child *child, struct error *err);
int child_run_start_hooks(struct child *child, struct error *err);

/* Never returns. */
__attribute__((noreturn))
void child_main(struct child *child);
