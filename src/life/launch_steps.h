/* A launch under way, and its steps, each in its own file. For launch.c, which takes them in order and undoes them. */
#pragma once

#include "life/child.h"
#include "life/dialogue.h"
#include "life/launch.h"
#include "monitor/monitor.h"
#include "plan/filter.h"

/* What is there for a monitor before it is. */
struct launch_monitor {
        int *tops; /* directories whose files count */
        size_t n_tops;
        int rooms[MONITOR_ROOMS];
        int alive; /* the end of a pipe that it keeps open while it lives */
};

/* What the request asked for and what there is of it by now. */
struct launch {
        const struct launch_request *request;
        const struct plan_plan *plan;
        struct arena *arena;
        struct launched result;
        struct filter_program filter;
        struct child child;
        struct dialogue dialogue;
        int cgroup;
        struct launch_monitor *monitor; /* what it will get; NULL: there is none */
        int init_leaf; /* of a sandbox: where its process 1 is made; -1: in CGROUP */
        bool usher;  /* the first process of ours is one */
        bool hooked; /* hooks outside have begun: from here on a failure owes them poststop */
};

/* launch_claims.c: what the container holds on this host. Each is written to its state before it is acquired, so that release() finds it. */
int launch_claim_status(struct launch *l, struct error *err);
int launch_claim_cgroup(struct launch *l, struct error *err);
int launch_claim_rdt(struct launch *l, struct error *err);
int launch_claim_init(struct launch *l, struct error *err);
/* A class of service that the launch made under a name that others may use is theirs as well from now on (config-linux.md: "MUST NOT
 * remove"). */
int launch_share_rdt(struct launch *l, struct error *err);

/* launch_sandbox.c: what a sandbox has beyond a container. Its cgroup must be new; the leaf of its process 1; and, once that one is READY, the bundle's process, until
 * it runs or waits for `start`, and the word to process 1 that it may serve. */
int launch_check_cgroup(const struct launch *l, const struct status_cgroup_claim *claim, struct error *err);
int launch_make_leaves(struct launch *l, struct error *err);
void launch_spare_init(const struct launch *l);
int launch_begin_commands(struct launch *l, struct error *err);

/* launch_child.c: all that the child will need, and the child. */
int launch_prepare_child(struct launch *l, struct error *err);
int launch_clone_child(struct launch *l, struct error *err);
int launch_write_maps(struct launch *l, struct error *err);
/* launch_disk.c: for a plan whose limit on disk use is hard, once the sources of its mounts are open. May change l->plan. */
int launch_prepare_disk(struct launch *l, struct error *err);

/* launch_monitor.c: of a sandbox with limits that are sampled. What it watches is to be prepared while the sources of the mounts are open; it begins when
 * process 1 is there. */
int launch_prepare_monitor(struct launch *l, struct error *err);
int launch_begin_monitor(struct launch *l, struct error *err);
void launch_drop_monitor(struct launch *l);

/* Closes what was opened for the child alone. */
void launch_drop_sources(struct launch *l);
