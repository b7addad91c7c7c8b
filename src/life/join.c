#define _GNU_SOURCE
#include "life/join.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "apply/affinity.h"
#include "apply/credentials.h"
#include "apply/idmap.h"
#include "apply/oom.h"
#include "apply/rlimits.h"
#include "apply/scheduler.h"
#include "apply/terminal.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/process.h"
#include "base/str.h"
#include "life/dialogue.h"
#include "life/join_cgroup.h"
#include "life/payload.h"
#include "life/pid_file.h"
#include "life/sync.h"

struct join {
        const struct join_request *request;
        const struct container *container;
        struct sync sync;
        struct payload payload;
        uint64_t namespaces;   /* all the container has of its own */
        uint64_t left_to_join; /* those that the child joins */
        int init;            /* pidfd */
        int cgroup;          /* directory, or -1 */
};

/* Every kind that the container made or joined. The kernel refuses to join a user namespace one is in already (setns(2)). */
static uint64_t namespaces_of(const struct plan_namespaces *namespaces) {
        uint64_t all = namespaces->create;

        for (size_t i = 0; i < namespaces->n_join; i++)
                all |= namespaces->join[i].flag;
        return all;
}

/* ---- in the child ---- */

static int enter_container(struct join *j, struct error *err) {
        const struct plan_process *process = j->request->process;
        int r;

        if ((r = payload_begin(&j->payload, err)) < 0)
                return r;
        if ((!(j->namespaces & CLONE_NEWUSER) && (r = rlimits_set(process, err)) < 0))
                return r;
        if (j->left_to_join && setns(j->init, (int)j->left_to_join) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "", "cannot join the container's namespaces");
        if (j->namespaces & CLONE_NEWUSER) {
                /* A change of ids makes a process dumpable again (prctl(2)). */
                if ((r = idmap_become_root(j->request->plan->ids, err)) < 0 || (r = credentials_hide(err)) < 0)
                        return r;
        }
        if (setsid() < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "", "cannot begin a session");
        return 0;
}

static int take_terminal(struct join *j, struct error *err) {
        const struct plan_process *process = j->request->process;
        _cleanup_close_ int master = -1, slave = -1, root = -1;
        int r;

        if (!process->terminal)
                return 0;
        root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (root < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "/", "cannot open the container's root");
        if ((r = terminal_open_pair(root, process->console_width, process->console_height, &master, &slave, err)) < 0 ||
            (r = terminal_own(slave, process->uid, err)) < 0)
                return r;
        if ((r = sync_report(j->sync.child, REPORT_CONSOLE, master)) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, -r, "process.terminal", "cannot hand over the terminal");
        return terminal_become(slave, err);
}

__attribute__((noreturn))
static void child_main(struct join *j) {
        int needed[] = { j->sync.child, j->init };
        const int ours[] = { j->sync.runtime, j->container->root, j->container->dir, j->cgroup };
        struct error err = { 0 };
        int r;

        /* We are in the container's pid namespace from the first instruction on. Whoever has CAP_SYS_PTRACE there may look through
         * /proc/PID/fd whatever our dumpable flag says, so what could lead out to the host goes first; our
         * own once more, because they lie among the preserved ones where fewer of those are open than said. */
        r = fd_keep_only(3 + j->request->preserve_fds, needed, ELEMENTSOF(needed));
        for (size_t i = 0; i < ELEMENTSOF(ours); i++)
                close(ours[i]);
        if (r < 0)
                fail_errno(&err, CODE_LAUNCH_FAILED, -r, "", "cannot close the descriptors that lead to the host");
        else if (enter_container(j, &err) == 0 && payload_settle(&j->payload, &err) == 0 && take_terminal(j, &err) == 0) {
                /* For rlimits the runtime outside may need to help; it also says when everything of its own is done. */
                (void)sync_report(j->sync.child, REPORT_READY, -1);
                sync_await(j->sync.child, TOKEN_GO);
                payload_exec(&j->payload, j->sync.child, &err);
        }
        sync_report_error(j->sync.child, &err);
        _exit(255);
}

/* ---- in the runtime ---- */

static int clone_into(struct join *j, struct joined *joined, struct error *err) {
        uint64_t first = j->namespaces & CLONE_NEWPID;
        int dumpable = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0), r;

        /* Non-dumpable before there is anything of us inside: a process there must not get at what we hold (CVE-2016-9962). The child
         * inherits that, and the place in the queue of the out-of-memory killer, whose file only a dumpable process may write. */
        if ((r = oom_score_adjust(j->request->process, err)) < 0 || (r = affinity_begin(j->request->process, err)) < 0 ||
            (r = credentials_hide(err)) < 0)
                return r;

        /* A pid namespace takes in only children made after the call, so this one is the runtime's. An ordinary user needs the rights that
         * the container's user namespace gives for that, so the runtime joins it as well; the child then has it already. */
        if (first && j->namespaces & CLONE_NEWUSER && geteuid() != 0)
                first |= CLONE_NEWUSER;
        if (first && setns(j->init, (int)first) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "", "cannot join the container's pid namespace");
        j->left_to_join = j->namespaces & ~(first | CLONE_NEWPID);
        joined->pid = process_clone(0, j->cgroup, &joined->pidfd);
        if (joined->pid == 0)
                child_main(j);
        if (joined->pid == -EBUSY && !j->request->cgroup) {
                close_fd(&j->cgroup);
                if ((r = join_cgroup_of_init(j->container, &j->cgroup, err)) < 0)
                        return r;
                joined->pid = process_clone(0, j->cgroup, &joined->pidfd);
                if (joined->pid == 0)
                        child_main(j);
        }
        prctl(PR_SET_DUMPABLE, dumpable, 0, 0, 0); /* we ourselves are on the host, as before */
        close_fd(&j->sync.child);
        if (joined->pid == -EAGAIN)
                return fail(err, CODE_RESOURCE_EXHAUSTED, EAGAIN, "linux.resources.pids.limit", "the container's limit on processes is reached: the pids limit leaves no room for another");
        return joined->pid < 0 ? fail_errno(err, CODE_LAUNCH_FAILED, -joined->pid, "", "cannot make a process in the container") : 0;
}

/* The child is ready inside; what only we can do for it, and then on to the exec. */
static int see_off(struct join *j, const struct joined *joined, struct dialogue *dialogue, struct error *err) {
        int r;

        if ((r = affinity_finish(joined->pid, j->request->process, err)) < 0 || (r = dialogue_until(dialogue, REPORT_READY, err)) < 0 ||
            (r = scheduler_set(joined->pid, j->request->process, err)) < 0)
                return r;
        /* The container's user namespace has no CAP_SYS_RESOURCE over us; its runtime may have. */
        if (j->namespaces & CLONE_NEWUSER && (r = rlimits_set_of(joined->pid, j->request->process, err)) < 0)
                return r;
        if ((r = pidfd_send(j->request->pidfd_socket, "--pidfd-socket", "setns", joined->pidfd, err)) < 0 ||
            (r = pid_file_write(j->request->pid_file, joined->pid, err)) < 0)
                return r;
        log_debug("%s: process %d has joined", j->container->id, joined->pid);
        sync_tell(j->sync.runtime, TOKEN_GO, 0);
        return dialogue_until(dialogue, REPORT_GONE, err);
}

/* Gives up on the child: nothing of a failed exec stays in the container. */
static void abandon(struct joined *joined) {
        int status;

        if (joined->pidfd >= 0) {
                process_signal(joined->pidfd, SIGKILL);
                process_reap(joined->pidfd, &status);
        }
        joined_close(joined);
}

int join(struct arena *arena, const struct container *container, int init, const struct join_request *request, struct joined *ret, struct error *err) {
        struct join j = { .request = request, .container = container, .sync = SYNC_CLOSED, .init = init, .cgroup = -1 };
        struct dialogue dialogue = { .console_socket = request->console_socket, .container = container, .arena = arena, .console = -1,
                                     .filter = request->plan->filter };
        struct joined joined = JOINED_NOTHING;
        int r;

        if (syscall(SYS_close_range, 3 + request->preserve_fds, ~0u, CLOSE_RANGE_CLOEXEC) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "", "cannot mark inherited descriptors close-on-exec");
        j.namespaces = namespaces_of(request->plan->namespaces);
        payload_prepare(arena, request->plan, request->process, request->filter, &j.payload);
        activation_tell(arena, &request->activation, &j.payload);
        if ((r = join_cgroup_open(container, request->cgroup, &j.cgroup, err)) == 0 && (r = sync_open(&j.sync, err)) == 0 && (r = clone_into(&j, &joined, err)) == 0) {
                dialogue.socket = j.sync.runtime;
                dialogue.pid = joined.pid;
                r = see_off(&j, &joined, &dialogue, err);
        }
        joined.console = dialogue.console;
        sync_close(&j.sync);
        close_fd(&j.cgroup);
        if (r < 0) {
                abandon(&joined);
                return r;
        }
        *ret = joined;
        return 0;
}

void joined_close(struct joined *joined) {
        close_fd(&joined->pidfd);
        close_fd(&joined->console);
}
