/* A join under way, for join.c, which makes the child and helps it from outside, and join_child.c, which is the child. */
#pragma once

#include "life/child.h"
#include "life/join.h"
#include "life/leaf.h"
#include "life/payload.h"
#include "life/sync.h"

struct join {
        const struct join_request *request;
        struct container *container;
        struct sync sync;
        struct payload payload;
        uint64_t namespaces;   /* all the container has of its own */
        uint64_t left_to_join; /* those that the child joins */
        bool usher;            /* the child is one (see join_main()) */
        bool command;          /* of a sandbox: the child opens the door for another (command_init.h) */
        struct leaf leaf;      /* of that command */
        int ended[2];          /* pipe from its init, which says there that the program has ended */
        int init;              /* pidfd */
        int cgroup;            /* directory, or -1 */
};

/* The child, from its first instruction on. */
__attribute__((noreturn))
void join_main(struct join *j);
