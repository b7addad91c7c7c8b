#define _GNU_SOURCE
#include "life/join_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "apply/affinity.h"
#include "apply/cgroup_leaf.h"
#include "apply/credentials.h"
#include "apply/namespaces.h"
#include "apply/oom.h"
#include "apply/rdt.h"
#include "apply/rlimits.h"
#include "apply/scheduler.h"
#include "apply/terminal.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/process.h"
#include "base/str.h"
#include "life/dialogue.h"
#include "life/join_cgroup.h"
#include "life/lost.h"
#include "life/pid_file.h"
#include "life/room.h"
#include "life/streams.h"
#include "life/tracers.h"

/* A container can have joined the user namespace that its runtime was in. */
static bool is_our_userns(pid_t init) {
        struct stat theirs, ours;
        char path[32];

        snprintf(path, sizeof path, "/proc/%d/ns/user", init);
        return stat(path, &theirs) == 0 && stat("/proc/self/ns/user", &ours) == 0 && theirs.st_ino == ours.st_ino && theirs.st_dev == ours.st_dev;
}

/* Every kind that the container made or joined. The kernel refuses to join a user namespace one is in already (setns(2)). */
uint64_t join_namespaces(const struct plan_namespaces *namespaces, pid_t init) {
        uint64_t all = namespaces->create;

        for (size_t i = 0; i < namespaces->n_join; i++)
                if (namespaces->join[i].flag != CLONE_NEWUSER || !is_our_userns(init))
                        all |= namespaces->join[i].flag;
        return all;
}

static int cannot_make(int r, struct error *err) {
        if (r == -EAGAIN)
                return fail(err, CODE_RESOURCE_EXHAUSTED, EAGAIN, "linux.resources.pids.limit",
                            "the container's limit on processes is reached: the pids limit leaves no room for another");
        return fail_errno(err, CODE_LAUNCH_FAILED, -r, "", "cannot make a process in the container");
}

static int cannot_join(struct error *err) {
        return fail_errno(err, CODE_LAUNCH_FAILED, errno, "", "cannot join the container's pid namespace");
}

static pid_t make_here(struct join *j, int *ret_pidfd) {
        pid_t pid = process_clone(0, j->cgroup, ret_pidfd);

        if (pid == 0)
                join_main(j);
        return pid;
}

/* For who must be afterwards where he is now, and cannot come back from there. The one in between ends with what it makes. */
static pid_t make_from_inside(struct join *j, uint64_t first, int *ret_pidfd) {
        pid_t pid = process_clone(0, -1, ret_pidfd);
        struct error err;
        int ignored;

        if (pid != 0)
                return pid;
        close_fd(&j->sync.runtime);
        if (setns(j->init, (int)first) < 0)
                cannot_join(&err);
        else if ((pid = make_here(j, &ignored)) < 0)
                cannot_make(pid, &err);
        else {
                (void)waitpid(pid, NULL, 0);
                _exit(0);
        }
        sync_report_error(j->sync.child, &err);
        _exit(255);
}

/* A pid namespace takes in only children made after the call, so this one is the runtime's, which hooks that it runs later would be in, too: a
 * launch goes back. An ordinary user needs the rights that the container's user namespace gives for it, so he joins that as well, from where
 * nobody comes back; the child then has it already. */
static int make_inside(struct join *j, struct joined *joined, struct error *err) {
        uint64_t first = j->usher ? 0 : j->namespaces & CLONE_NEWPID;
        const bool goes_on = first && j->request->first, user = first && j->namespaces & CLONE_NEWUSER && geteuid() != 0;
        _cleanup_close_ int own = goes_on && !user ? open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC) : -1;

        if (user)
                first |= CLONE_NEWUSER;
        j->left_to_join = j->namespaces & ~first;
        if (goes_on && user) {
                joined->pid = make_from_inside(j, first, &joined->pidfd);
                return 0;
        }
        if ((goes_on && own < 0) || (first && setns(j->init, (int)first) < 0))
                return cannot_join(err);
        joined->pid = make_here(j, &joined->pidfd);
        return goes_on && setns(own, CLONE_NEWPID) < 0 ? cannot_join(err) : 0;
}

static int clone_into(struct join *j, struct joined *joined, struct error *err) {
        int dumpable = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0), r;
        struct oom_loan oom = { .n = 0 };

        /* Non-dumpable before there is anything of us inside: a process there must not get at what we hold (CVE-2016-9962). The child
         * inherits that. */
        if ((r = oom_score_lend(j->request->process, &oom, err)) < 0 || (r = affinity_begin(j->request->process, err)) < 0 ||
            (r = credentials_hide(err)) < 0 || (r = make_inside(j, joined, err)) < 0)
                return r;
        if (joined->pid == -EBUSY && !j->request->cgroup && !j->request->own && !j->command) {
                close_fd(&j->cgroup);
                if ((r = join_cgroup_of_init(j->container, &j->cgroup, err)) < 0)
                        return r;
                joined->pid = make_here(j, &joined->pidfd);
        }
        prctl(PR_SET_DUMPABLE, dumpable, 0, 0, 0); /* we ourselves are on the host, as before */
        r = oom_score_return(&oom, err);
        close_fd(&j->sync.child);
        if (r < 0)
                return r;
        return joined->pid < 0 ? cannot_make(joined->pid, err) : 0;
}

/* With one process left of its limit, the container has room for the usher or for what it makes, and the kernel let the usher in. It goes as
 * soon as the other is there, and the number is what it was. */
static int make_room(struct join *j, struct dialogue *dialogue, struct error *err) {
        const struct status_cgroup_claim *claim = j->container->status.cgroup;
        _cleanup_close_ int fd = -1;
        int r, end;

        if (!claim || claim->ours == 0 || j->request->unlocked || room_begin(j->container, &fd) < 0)
                return fail(err, CODE_RESOURCE_EXHAUSTED, EAGAIN, "", "the limit on processes is reached: no child can be made");
        r = sync_tell(j->sync.runtime, TOKEN_AGAIN, 0, err);
        if (r == 0)
                r = dialogue_until(dialogue, REPORT_BORN, err);
        end = room_end(j->container, fd);
        if (r == 0 && end < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, -end, "linux.resources.pids.limit", "cannot set the limit on processes back");
        return r;
}

/* The usher has done its work: what it made is the command. Somebody inside may have taken hold of that already and speak for it, so only
 * a child of ours is believed. */
static int take_over(struct join *j, struct joined *joined, struct dialogue *dialogue, struct error *err) {
        int r = dialogue_until(dialogue, REPORT_BORN, err), pidfd = -1, status;
        pid_t usher = joined->pid;

        if (r == 0 && dialogue->born == -EAGAIN)
                r = make_room(j, dialogue, err);
        if (r < 0)
                return r;
        /* The bundle's process in a sandbox is left to the sandbox's process 1, and nobody else is in there to speak for it. */
        if (dialogue->born <= 0 || dialogue->born == usher || (!j->request->first && (r = process_adopt(dialogue->born, &pidfd)) < 0))
                return fail_errno(err, CODE_LAUNCH_FAILED, r < 0 ? -r : EPROTO, "", "cannot find the process in the container");
        process_signal(joined->pidfd, SIGKILL); /* the payload's filter may keep it from ending itself */
        process_reap(joined->pidfd, &status);
        close_fd(&joined->pidfd);
        joined->pid = dialogue->pid = dialogue->born;
        joined->pidfd = pidfd;
        return 0;
}

/* The child is ready inside; what only we can do for it, and then on to the exec. */
static int see_off(struct join *j, struct joined *joined, struct dialogue *dialogue, struct error *err) {
        int r;

        r = j->usher || j->command ? take_over(j, joined, dialogue, err) : 0;
        if (r == 0 && !j->usher)
                r = dialogue_until(dialogue, REPORT_READY, err);
        if (r < 0 || (r = affinity_finish(joined->pid, j->request->process, err)) < 0 ||
            (r = rdt_enter(j->container->status.rdt, joined->pid, err)) < 0 ||
            (r = scheduler_set(joined->pid, j->request->process, err)) < 0)
                return r;
        /* The container's user namespace has no CAP_SYS_RESOURCE over us; its runtime may have. */
        if (j->namespaces & CLONE_NEWUSER && (r = rlimits_set_of(joined->pid, j->request->process, err)) < 0)
                return r;
        if ((r = pidfd_send(j->request->pidfd_socket, "--pidfd-socket", "setns", joined->pidfd, err)) < 0 ||
            (r = pid_file_write(j->request->pid_file, joined->pid, err)) < 0 ||
            (r = guard_tell(j->request->guard, joined->pidfd, j->request->own || j->command ? j->cgroup : -1, err)) < 0)
                return r;
        log_debug("%s: process %d has joined", j->container->id, joined->pid);
        if ((j->request->ready && (r = j->request->ready(j->request->ready_data, joined->pid, err)) < 0) ||
            (r = sync_tell(j->sync.runtime, TOKEN_GO, 0, err)) < 0)
                return r;
        if (j->request->first && j->request->first->gate >= 0) /* `start` hears the rest */
                return 0;
        return dialogue_until(dialogue, REPORT_GONE, err);
}

/* Gives up on the child: nothing of a failed exec stays in the container. */
static void abandon(struct joined *joined) {
        struct error ignored;
        int status;

        if (joined->pidfd >= 0) {
                process_signal(joined->pidfd, SIGKILL);
                process_reap(joined->pidfd, &status);
        }
        if (joined->console >= 0)
                terminal_show_rest(joined->console);
        if (joined->leaf)
                (void)cgroup_leaf_end(joined->leaf, &ignored);
        joined_close(joined);
}

/* Process 1 is still there while the kernel ends the others of its PID namespace, but it has no namespaces to join any more (kernel/exit.c,
 * do_exit()). */
static bool is_ending(int init) {
        return process_wait_end(init, 0) == 0 || (setns(init, CLONE_NEWPID) < 0 && errno == ESRCH);
}

/* A sandbox may end while a command is on its way in: whatever the kernel says then, this is what has happened. */
static int tell_of_end(const struct join *j, int r, struct error *err) {
        if (!j->command || (err->code != CODE_LAUNCH_FAILED && err->code != CODE_RESOURCE_EXHAUSTED) || !is_ending(j->init))
                return r;
        return fail(err, CODE_INVALID_STATE, ESRCH, "", "container not running: the sandbox has ended");
}

/* Whose processes see us come, and may they trace us? Those of a joined pid namespace are not known here. In a user namespace of the
 * container's own nobody has rights over us; where it has the host's pid namespace there is nothing to hide. */
static bool needs_usher(const struct join *j) {
        const struct plan_plan *plan = j->request->plan;

        if (j->namespaces & CLONE_NEWUSER || !(j->namespaces & CLONE_NEWPID))
                return false;
        return j->container->status.tracers || tracers_possible(plan->process) || !(plan->namespaces->create & CLONE_NEWPID);
}

/* A tracer that this command brings in is written down before it is there. */
static int note_tracer(struct container *container, struct arena *arena, const struct join_request *request, struct error *err) {
        char path[32];
        struct stat pids;
        int r;

        if (container->status.tracers || tracers_possible(request->plan->process) || !tracers_possible(request->process))
                return 0;
        snprintf(path, sizeof path, "/proc/%d/ns/pid", container->status.init->pid);
        if (namespaces_joins(request->plan->namespaces, CLONE_NEWPID) && stat(path, &pids) == 0 &&
                (r = tracers_tell(arena, request->root, container->id, &pids, err)) < 0)
                return r;
        container->status.has |= STATUS_STATUS_HAS_TRACERS;
        container->status.tracers = true;
        return container_save(container, err);
}

static int prepare(struct join *j, struct arena *arena, struct error *err) {
        const struct join_request *request = j->request;
        struct loss loss;
        int r;

        j->namespaces = join_namespaces(request->plan->namespaces, j->container->status.init->pid);
        payload_prepare(arena, request->plan, request->process, request->filter, &j->payload);
        activation_tell(arena, &request->activation, &j->payload);
        j->command = request->plan->sandbox;
        j->usher = !j->command && needs_usher(j);
        if (j->usher && !payload_may_fork(&j->payload))
                return fail(err, CODE_CAPABILITY_UNSUPPORTED, EPERM, "linux.seccomp",
                            "a process of the container may hold CAP_SYS_PTRACE, so that a command can enter it safely only by a fork, which the "
                            "seccomp filter forbids: allow clone, or set noNewPrivileges");
        if (j->command && lost_is(j->container, &loss))
                return lost_fail(&loss, err);
        if (j->command && request->cgroup)
                return fail(err, CODE_USAGE, EINVAL, "--cgroup", "every command of a sandbox has a cgroup of its own");
        if (j->command)
                r = leaf_make(arena, j->container, request->plan->cgroup, request->first ? LEAF_MAIN : NULL, &j->leaf, err);
        else if (request->own)
                r = j->cgroup = fcntl(request->own->fd, F_DUPFD_CLOEXEC, 0);
        else
                r = join_cgroup_open(j->container, request->cgroup, &j->cgroup, err);
        if (r < 0 || (r = sync_open(&j->sync, err)) < 0)
                return r;
        if (j->command)
                j->cgroup = take_fd(&j->leaf.fd);
        if (j->command && !request->detached && pipe2(j->ended, O_CLOEXEC) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "", "cannot make the pipe from the command's init");
        return j->usher || j->command ? sync_ask_pids(j->sync.runtime, err) : 0;
}

static int check_streams(const struct join_request *request, struct error *err) {
        const struct streams_use use = { .preserved = request->preserve_fds, .stays = true, .relayed = request->output };

        if (!request->plan->sandbox || request->first) /* launch() has looked at those of the bundle's process */
                return 0;
        return streams_check(request->process, &use, err);
}

int join(struct arena *arena, struct container *container, int init, const struct join_request *request, struct joined *ret, struct error *err) {
        struct join j = { .request = request, .container = container, .sync = SYNC_CLOSED, .init = init, .cgroup = -1, .leaf = LEAF_NONE, .ended = { -1, -1 } };
        struct dialogue dialogue = { .interruption = request->interruption, .console_socket = request->console_socket, .container = container, .arena = arena, .console = -1, .notify = -1,
                                     .filter = request->plan->filter };
        struct joined joined = JOINED_NOTHING;
        int r;

        if ((r = check_streams(request, err)) < 0)
                return r;
        if (syscall(SYS_close_range, 3 + request->preserve_fds, ~0u, CLOSE_RANGE_CLOEXEC) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "", "cannot mark inherited descriptors close-on-exec");
        if ((r = prepare(&j, arena, err)) == 0 && (r = note_tracer(container, arena, request, err)) == 0 && (r = clone_into(&j, &joined, err)) == 0) {
                dialogue.socket = j.sync.runtime;
                dialogue.pid = joined.pid;
                r = see_off(&j, &joined, &dialogue, err);
        }
        joined.console = dialogue.console;
        joined.leaf = j.leaf.path;
        joined.ended = take_fd(&j.ended[0]);
        close_fd(&j.ended[1]);
        joined.sandboxed = j.command;
        sync_close(&j.sync);
        close_fd(&j.cgroup);
        if (r < 0) {
                abandon(&joined);
                return tell_of_end(&j, r, err);
        }
        *ret = joined;
        return 0;
}

void joined_close(struct joined *joined) {
        close_fd(&joined->pidfd);
        close_fd(&joined->console);
        close_fd(&joined->ended);
}
