#define _GNU_SOURCE
#include "life/command_init.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "apply/command_mounts.h"
#include "apply/credentials.h"
#include "apply/idmap.h"
#include "apply/terminal.h"
#include "base/fd.h"
#include "base/process.h"
#include "life/init.h"
#include "life/sync.h"

/* ---- the program -------------------------------------------------------------------------------------------------------- */

static int run_program(struct command *c, int slave, struct error *err) {
        sigset_t none;
        int r;

        sigemptyset(&none);
        if (sigprocmask(SIG_SETMASK, &none, NULL) < 0 || setsid() < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "", "cannot begin a session");
        if ((slave >= 0 && (r = terminal_become(slave, err)) < 0) || (c->first && (r = child_run_start_hooks(c->first, err)) < 0))
                return r;
        return payload_execute(c->payload, c->sync, err);
}

/* ---- its init ----------------------------------------------------------------------------------------------------------- */

/* The kernel sends SIGKILL from outside of our PID namespace, so it counts although we are process 1 (signal(7), PR_SET_PDEATHSIG(2const)).
 * After the last change of ids, which would take it back. A runtime that is gone already closes its end of the socket, which is looked at
 * later than this. */
static int die_with_runtime(const struct command *c, struct error *err) {
        if (!c->dies_with_us || prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0)
                return 0;
        return fail_errno(err, CODE_LAUNCH_FAILED, errno, "", "cannot tie the command to its runtime");
}

/* All that needs a right, and after it there is none left: the program is a fork of what we are then. */
static int furnish(struct command *c, int *ret_slave, struct error *err) {
        int r;

        if ((r = command_mounts_renew(c->plan, err)) < 0 || (r = payload_settle(c->payload, err)) < 0 ||
                (r = payload_open_terminal(c->payload, c->sync, ret_slave, err)) < 0 || (r = payload_drop(c->payload, c->sync, err)) < 0)
                return r;
        return die_with_runtime(c, err);
}

static int begin_init(struct command *c, int *ret_signals, struct error *err) {
        int r;

        /* A session of our own: no terminal's signal reaches this process group. */
        if (setsid() < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "", "cannot begin a session");
        if (c->first && (r = child_await_start(c->first, err)) < 0)
                return r;
        if (c->first)
                c->sync = c->first->sync.child;
        return init_collect_signals(ret_signals, err);
}

static int live(struct command *c, struct error *err) {
        _cleanup_close_ int slave = -1;
        int signals, ignored, r;
        pid_t pid;

        if ((r = furnish(c, &slave, err)) < 0)
                return r;
        if (c->first && c->first->gate >= 0)
                child_heed_signals();
        if (sync_report(c->sync, REPORT_READY, -1) < 0)
                _exit(255);
        sync_await(c->sync, TOKEN_GO);
        if ((r = begin_init(c, &signals, err)) < 0)
                return r;
        pid = process_clone(0, -1, &ignored);
        if (pid == 0)
                return run_program(c, slave, err);
        if (pid < 0)
                return fail_errno(err, pid == -EAGAIN ? CODE_RESOURCE_EXHAUSTED : CODE_LAUNCH_FAILED, -pid, "",
                        "cannot make a process for the command");
        init_serve(signals, pid, c->ended, -1);
}

__attribute__((noreturn)) static void be_born(struct command *c) {
        struct error err;

        if (sync_report_born(c->sync, 0) < 0)
                _exit(255); /* the runtime would wait for this word, and we for its answer */
        live(c, &err);
        sync_report_error(c->sync, &err);
        _exit(255);
}

/* ---- the door opener ---------------------------------------------------------------------------------------------------- */

static int join_sandbox(struct command *c, struct error *err) {
        int r = payload_begin(c->payload, err);

        if (r < 0)
                return r;
        if (setns(c->sandbox, (int)c->namespaces) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "", "cannot join the sandbox's namespaces");
        close_fd(&c->sandbox);
        /* A change of ids makes a process dumpable again (prctl(2)). */
        if ((r = idmap_become_root(c->plan->ids, err)) < 0 || (r = credentials_hide(err)) < 0)
                return r;
        /* One that begins at the command's own leaf: it neither sees the others' nor has to look for its own. */
        if (c->plan->namespaces->create & CLONE_NEWCGROUP && unshare(CLONE_NEWCGROUP) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "", "cannot make the command's cgroup namespace");
        return 0;
}

static int open_door(struct command *c, struct error *err) {
        int r = join_sandbox(c, err), ignored;
        pid_t pid;

        if (r < 0)
                return r;
        pid = process_clone(CLONE_NEWPID | CLONE_NEWNS | (c->first ? 0 : CLONE_PARENT), -1, &ignored);
        if (pid == 0)
                be_born(c);
        if (pid == -EAGAIN)
                return fail(err, CODE_RESOURCE_EXHAUSTED, EAGAIN, "linux.resources.pids.limit",
                        "the limit on processes is reached: no command can be made");
        return pid < 0 ? fail_errno(err, CODE_LAUNCH_FAILED, -pid, "", "cannot make the command's pid namespace") : 0;
}

void command_main(struct command *c) {
        struct error err;
        int r = open_door(c, &err);

        if (r < 0)
                sync_report_error(c->sync, &err);
        _exit(r < 0 ? 255 : 0);
}
