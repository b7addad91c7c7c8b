#define _GNU_SOURCE
#include "life/launch_steps.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "apply/cgroup_leaf.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/log.h"
#include "base/process.h"
#include "life/gate.h"
#include "life/join.h"
#include "life/leaf.h"

/* One that is there may hold others, or have limits that somebody else still changes. */
int launch_check_cgroup(const struct launch *l, const struct status_cgroup_claim *claim, struct error *err) {
        if (claim->ours > 0)
                return 0;
        return fail(err, CODE_BUSY, EEXIST, claim->path, "the cgroup of sandbox `%s` exists already: if nobody needs it, remove it (rmdir)",
                l->plan->id);
}

int launch_make_leaves(struct launch *l, struct error *err) {
        int r;

        if ((r = cgroup_leaf_prepare(l->cgroup, l->plan->cgroup, err)) < 0 || (r = cgroup_check_swap(l->cgroup, l->plan->cgroup, err)) < 0)
                return r;
        r = cgroup_leaf_make(l->cgroup, LEAF_INIT, NULL, &l->init_leaf, err);
        return r == -EEXIST ? fail(err, CODE_BUSY, EEXIST, l->plan->cgroup->path, "the cgroup of the sandbox is another's") : r;
}

/* The kernel shall kill anybody out of memory rather than process 1, which needs little and takes all of the sandbox along. Lowering a score takes
 * CAP_SYS_RESOURCE on the host (proc_pid_oom_score_adj(5)); without it the score stays what it is. Commands do not inherit it: they are made by
 * the runtime. */
void launch_spare_init(const struct launch *l) {
        static const char never[] = "-1000";
        char path[40];

        snprintf(path, sizeof path, "/proc/%d/oom_score_adj", l->result.pid);
        (void)file_write(AT_FDCWD, path, never, strlen(never));
}

/* Everything is in place, and MAIN, the init of the bundle's process, 0 for none, waits for the last word. Process 1 goes first: when the
 * program runs, nothing of us is left in there that has any right. */
static int let_init_serve(void *data, pid_t main, struct error *err) {
        struct launch *l = data;
        struct container *c = &l->result.container;
        pid_t inside = 0;
        int r;

        if (main && (r = process_number_inside(main, &inside)) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, -r, "", "cannot tell which number the command has in the sandbox");
        if (l->request->wait_for_start && (r = gate_ready(c->dir, err)) < 0)
                return r;
        if (!l->request->wait_for_start)
                container_unlock(c); /* startContainer and poststart hooks may take long, and kill and delete must get through */
        if ((r = sync_tell(l->child.sync.runtime, TOKEN_GO, inside, err)) < 0)
                return r;
        if (l->request->wait_for_start && !main) /* it says the rest to `start` */
                return 0;
        return dialogue_until(&l->dialogue, REPORT_GONE, err);
}

int launch_begin_commands(struct launch *l, struct error *err) {
        const struct launch_request *asked = l->request;
        struct plan_process process = *l->plan->process;
        const struct join_request request = {
                .root = asked->root,
                .plan = l->plan,
                .process = &process,
                .filter = l->plan->filter ? &l->filter : NULL,
                .console_socket = asked->console_socket,
                .interruption = asked->interruption,
                .preserve_fds = asked->preserve_fds,
                .activation = asked->activation,
                .output = asked->output,
                .detached = asked->wait_for_start || asked->detach,
                .first = &l->child,
                .ready = let_init_serve,
                .ready_data = l,
        };
        struct joined main = JOINED_NOTHING;
        int r;

        if (!process.args)
                return let_init_serve(l, 0, err);
        process.exec_affinity = NULL; /* for exec alone (config.md) */
        r = join(l->arena, &l->result.container, l->result.pidfd, &request, &main, err);
        if (r < 0)
                return r;
        log_debug("%s: the program %s", l->plan->id, asked->wait_for_start ? "waits for start" : "runs");
        l->hooked = l->plan->hooks && !asked->wait_for_start; /* it was there, whatever comes now */
        l->dialogue.console = take_fd(&main.console);
        l->result.ended = take_fd(&main.ended);
        joined_close(&main);
        return 0;
}
