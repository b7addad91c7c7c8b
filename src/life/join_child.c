#define _GNU_SOURCE
#include "life/join_parts.h"

#include <errno.h>
#include <sched.h>
#include <unistd.h>

#include "apply/credentials.h"
#include "apply/idmap.h"
#include "apply/rlimits.h"
#include "apply/terminal.h"
#include "base/fd.h"
#include "base/process.h"
#include "base/str.h"
#include "life/command_init.h"

static int enter_container(struct join *j, struct error *err) {
        int r;

        if ((r = payload_begin(&j->payload, err)) < 0)
                return r;
        if (!(j->namespaces & CLONE_NEWUSER) &&
            (r = j->usher ? rlimits_set_but_processes(j->request->process, err) : rlimits_set(j->request->process, err)) < 0)
                return r;
        if (j->left_to_join && setns(j->init, (int)j->left_to_join) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "", "cannot join the container's namespaces");
        if (!(j->namespaces & CLONE_NEWUSER))
                return 0;
        /* A change of ids makes a process dumpable again (prctl(2)). */
        r = idmap_become_root(j->request->plan->ids, err);
        return r < 0 ? r : credentials_hide(err);
}

/* The usher's last deed: the process that it opened the door for. */
static int bear(struct join *j, struct error *err) {
        pid_t pid = process_sibling();

        if (pid == -EAGAIN) {
                /* We are the one more process that the container's limit has room for; the runtime can raise that. */
                if (sync_report_born(j->sync.child, pid) < 0)
                        _exit(255);
                sync_await(j->sync.child, TOKEN_AGAIN);
                pid = process_sibling();
        }
        if (pid < 0)
                return fail_errno(err, pid == -EAGAIN ? CODE_RESOURCE_EXHAUSTED : CODE_LAUNCH_FAILED, -pid, "", "cannot make a process in the container");
        if (pid > 0)
                _exit(0);
        if (sync_report_born(j->sync.child, 0) < 0)
                _exit(255); /* the runtime would wait for this word, and we for its answer */
        return 0;
}

static int become_command(struct join *j, struct error *err) {
        _cleanup_close_ int slave = -1;
        bool again;
        int r;

        if ((r = enter_container(j, err)) < 0)
                return r;
        r = payload_settle(&j->payload, err);
        again = j->usher && r < 0 && err->code == CODE_EXECUTABLE_UNAVAILABLE;
        if ((r < 0 && !again) || (r = payload_open_terminal(&j->payload, j->sync.child, &slave, err)) < 0)
                return r;
        close_fd(&j->init); /* execve(2) could find it, and whoever is inside */
        if (j->usher && ((r = payload_drop(&j->payload, j->sync.child, err)) < 0 || (r = bear(j, err)) < 0 ||
                         (r = rlimits_set_processes(j->request->process, err)) < 0 || (again && (r = payload_find_program(&j->payload, err)) < 0)))
                return r;
        if (setsid() < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "", "cannot begin a session");
        if (slave >= 0 && (r = terminal_become(slave, err)) < 0)
                return r;
        close_fd(&slave);

        /* For rlimits the runtime outside may need to help; it also says when everything of its own is done. */
        if (!j->usher && sync_report(j->sync.child, REPORT_READY, -1) < 0)
                _exit(255);
        sync_await(j->sync.child, TOKEN_GO);
        return j->usher ? payload_execute(&j->payload, j->sync.child, err) : payload_exec(&j->payload, j->sync.child, err);
}

__attribute__((noreturn))
static void become_sandboxed(struct join *j) {
        struct command command = {
                .plan = j->request->plan, .payload = &j->payload, .first = j->request->first, .namespaces = j->left_to_join,
                .sandbox = j->init, .sync = j->sync.child, .ended = j->ended[1], .dies_with_us = !j->request->detached && !j->request->first,
        };

        if (command.first)
                command.first->sync.child = command.sync;
        command_main(&command);
}

/* Mostly we are in the container's pid namespace from the first instruction on, where others may look through /proc/PID or trace us. That
 * we are not dumpable stops them, unless they hold CAP_SYS_PTRACE over the host's user namespace (ptrace(2), "Ptrace access mode checking");
 * then this is an usher: it stays outside of that pid namespace, where nobody inside has a name for it, joins everything else, gives up
 * all that the payload does not have, and only then makes the process that can be seen in there. */
void join_main(struct join *j) {
        const struct child *first = j->request->first;
        int needed[] = { j->sync.child, j->init, first ? first->gate : -1, first ? first->hook_output.out : -1, first ? first->hook_output.err : -1, j->ended[1] };
        const int ours[] = { j->sync.runtime, j->container->root, j->container->dir, j->cgroup };
        struct error err = { 0 };
        int taken = output_relay_take(j->request->output, &err), r;

        /* What could lead out to the host goes first; our own once more, because they lie among the preserved ones where fewer of those
         * are open than said. */
        r = fd_keep_only(3 + j->request->preserve_fds, needed, ELEMENTSOF(needed));
        for (size_t i = 0; i < ELEMENTSOF(ours); i++)
                close(ours[i]);
        if (r < 0)
                fail_errno(&err, CODE_LAUNCH_FAILED, -r, "", "cannot close the descriptors that lead to the host");
        else if (taken < 0)
                ;
        else if (j->command)
                become_sandboxed(j);
        else
                become_command(j, &err);
        sync_report_error(j->sync.child, &err);
        _exit(255);
}
