#define _GNU_SOURCE
#include "cmd/command.h"

#include <errno.h>
#include <fcntl.h>

#include "base/fd.h"
#include "base/str.h"
#include "cmd/bundle.h"
#include "cmd/exec_process.h"
#include "life/cgroup_claim.h"
#include "life/join.h"
#include "life/join_cgroup.h"
#include "life/lost.h"
#include "life/protect.h"
#include "life/slots.h"
#include "life/soft.h"
#include "plan/command_policy.h"

static const struct option_row options[] = {
        { "process", 'p', OPTION_TEXT, offsetof(struct exec_options, process),
                "JSON file with the whole process object, in place of COMMAND" },
        { "tty", 't', OPTION_FLAG, offsetof(struct exec_options, tty), "give it a terminal" },
        { "cwd", 0, OPTION_TEXT, offsetof(struct exec_options, cwd), "working directory" },
        { "user", 'u', OPTION_TEXT, offsetof(struct exec_options, user), "UID[:GID], numbers" },
        { "additional-gids", 'g', OPTION_LIST, offsetof(struct exec_options, groups), "one more supplementary group" },
        { "env", 'e', OPTION_LIST, offsetof(struct exec_options, env), "NAME=VALUE to add or replace" },
        { "cap", 'c', OPTION_LIST, offsetof(struct exec_options, caps), "a capability to add" },
        { "no-new-privs", 0, OPTION_FLAG, offsetof(struct exec_options, no_new_privileges), "set no_new_privs" },
        { "process-label", 0, OPTION_TEXT, offsetof(struct exec_options, selinux), "SELinux label" },
        { "apparmor", 0, OPTION_TEXT, offsetof(struct exec_options, apparmor), "AppArmor profile" },
        { "detach", 'd', OPTION_FLAG, offsetof(struct exec_options, detach), "return once the program runs" },
        { "cgroup", 0, OPTION_LIST, offsetof(struct exec_options, cgroups), "PATH below the container's own cgroup to run in" },
        { "console-socket", 0, OPTION_TEXT, offsetof(struct exec_options, console_socket), "Unix socket that gets the terminal's master" },
        { "pid-file", 0, OPTION_TEXT, offsetof(struct exec_options, pid_file), "file for the pid of the new process" },
        { "pidfd-socket", 0, OPTION_TEXT, offsetof(struct exec_options, pidfd_socket), "Unix socket that gets a pidfd of the new process" },
        { "ignore-paused", 0, OPTION_FLAG, offsetof(struct exec_options, ignore_paused), "wait until a paused container is resumed" },
        { "preserve-fds", 0, OPTION_NUMBER, offsetof(struct exec_options, preserve_fds),
                "how many descriptors from 3 on the process gets" },
        { "no-wait", 0, OPTION_FLAG, offsetof(struct exec_options, no_wait), "fail when the sandbox has as many commands as it may have" },
        SUPERVISE_OPTION_ROWS(exec_options),
};
extern const struct command command_exec;

static int check_terminal(const struct exec_options *o, const struct plan_process *process, struct error *err) {
        if (o->console_socket && !process->terminal)
                return fail(err, CODE_USAGE, EINVAL, "--console-socket", "the process has no terminal");
        if (process->terminal && o->detach && !o->console_socket)
                return fail(err, CODE_USAGE, EINVAL, "--detach", "a detached process with a terminal needs --console-socket");
        return 0;
}

/* runc's [CONTROLLER,...:]PATH. On cgroup v2 there is one hierarchy, no controller has a place of its own, and runc knows none by its name
 * either. */
static int choose_cgroup(const struct text_list *asked, const char **ret, struct error *err) {
        const char *path = asked->n ? asked->items[0] : NULL;

        if (asked->n > 1)
                return fail(err, CODE_USAGE, EINVAL, "--cgroup", "cgroup v2 has one place for all controllers, found `%s` and `%s`", path,
                        asked->items[1]);
        if (path && strchr(path, ':'))
                return fail(err, CODE_USAGE, EINVAL, "--cgroup", "expected PATH, found `%s`: cgroup v2 has no place for single controllers",
                        path);
        *ret = path;
        return 0;
}

/* A supervised command needs something to tell its processes by. What only its first process is asked about does without. */
static int make_own_cgroup(struct invocation *invocation, const struct supervision *asked, const struct container *container,
        const char *below, struct command_cgroup *own, struct error *err) {
        int around = -1, r;

        if ((r = join_cgroup_open(container, below, &around, err)) < 0)
                return r;
        if (around < 0 && (asked->timeout_us || asked->die_with_parent))
                return fail(err, CODE_CAPABILITY_UNSUPPORTED, EOPNOTSUPP, asked->timeout_us ? "--timeout" : "--die-with-parent",
                        "the container has no cgroup to tell the command's processes by");
        return command_cgroup_make(invocation->arena, around, own, err);
}

/* What stands between a command of exec and its end. */
struct execution {
        struct supervisor supervisor;
        int slot;                  /* of a sandbox's */
        struct command_cgroup own; /* of a supervised one */
        struct joined joined;
};

static int begin(struct invocation *invocation, const struct exec_options *o, const struct container *container, bool terminal,
        struct join_request *request, struct execution *e, struct error *err) {
        struct supervisor *s = &e->supervisor;
        int r;

        if (o->detach)
                return 0;
        if ((r = supervise_begin(s, invocation->arena, terminal, 3 + (int)request->preserve_fds, err)) < 0)
                return r;
        request->output = s->output;
        if (request->plan->sandbox) /* join() makes a leaf for every command of one */
                (void)cgroup_claim_open(container, &e->own.container);
        else if (s->asked.any && (r = make_own_cgroup(invocation, &s->asked, container, request->cgroup, &e->own, err)) < 0)
                return r;
        if (e->own.container >= 0)
                supervise_note_before(s, e->own.container);
        request->own = e->own.fd >= 0 ? &e->own : NULL;
        supervise_note_sandbox(s, container, request->plan);
        return 0;
}

/* 1: it took a while until there was a slot, with the container unlocked, so everything is to be looked at again. */
static int take_slot(
        const struct exec_options *o, const struct sage_process *policy, struct container *container, int *slot, struct error *err) {
        int r;

        if (*slot >= 0 && slot_is_of(container, *slot))
                return 0;
        close_fd(slot);
        r = slot_take(container, policy->max_processes, slot, err);
        if (r != -EAGAIN)
                return r;
        if (o->no_wait)
                return fail(err, CODE_BUSY, EBUSY, "sage.sandbox.process.max_processes",
                        "the sandbox has as many commands as it may have (%u)", policy->max_processes);
        container_unlock(container);
        r = slot_wait(container, policy->max_processes, slot, err);
        return r < 0 ? r : 1;
}

/* What the policy of the container says of this command. As take_slot(). */
static int admit_command(struct invocation *invocation, const struct exec_options *o, const struct plan_plan *plan,
        struct plan_process *process, struct container *container, struct execution *e, struct error *err) {
        const struct sage_process *policy = plan->sage ? plan->sage->process : NULL;
        int r;

        if (!policy)
                return 0;
        if ((o->detach && (r = command_policy_detached(policy, err)) < 0) ||
                (r = command_policy_exec(invocation->arena, plan, process, err)) < 0 ||
                (r = supervise_policy(plan, o->console_socket, &e->supervisor.asked, err)) < 0)
                return r;
        return policy->has & SAGE_PROCESS_HAS_MAX_PROCESSES ? take_slot(o, policy, container, &e->slot, err) : 0;
}

/* Opens the container for the moment of the join only: the command may run for days, and others must get at the container. */
static int join_container(
        struct invocation *invocation, const struct exec_options *o, char **operands, struct execution *e, struct error *err) {
        _cleanup_container_ struct container container = CONTAINER_CLOSED;
        struct join_request request = { .console_socket = o->console_socket,
                .pid_file = o->pid_file,
                .pidfd_socket = o->pidfd_socket,
                .activation = activation_read() };
        _cleanup_close_ int init = -1;
        struct filter_program filter;
        struct plan_process *process;
        struct plan_plan plan;
        enum oci_status status;
        struct loss loss;
        int r;

        if ((r = choose_cgroup(&o->cgroups, &request.cgroup, err)) < 0 ||
                (r = container_open(invocation->arena, invocation->root, operands[0], CONTAINER_LOCKED, &container, err)) < 0 ||
                (r = container_state(&container, &status, &init, err)) < 0)
                return r;
        if (status == OCI_STATUS_PAUSED && !o->ignore_paused)
                return fail(err, CODE_INVALID_STATE, EBUSY, "", "cannot exec in a paused container: resume it, or use --ignore-paused");
        if (status == OCI_STATUS_STOPPED && lost_is(&container, &loss))
                return lost_fail(&loss, err);
        if (status != OCI_STATUS_RUNNING && status != OCI_STATUS_CREATED && status != OCI_STATUS_PAUSED)
                return fail(err, CODE_INVALID_STATE, EINVAL, "", "container not running: cannot exec in a container that is %s",
                        spec_enum_name(&oci_status_enum, status));
        if ((r = container_load_plan(invocation->arena, &container, &plan, err)) < 0 ||
                (r = exec_process(invocation, o, operands + 1, &plan, &process, err)) < 0 || (r = check_terminal(o, process, err)) < 0 ||
                (r = admit_command(invocation, o, &plan, process, &container, e, err)) != 0 ||
                (plan.filter && (r = container_load_filter(invocation->arena, &container, &filter, err)) < 0) ||
                (plan.protect_binary && (r = protect_binary(invocation->argv, err)) < 0))
                return r;
        request.preserve_fds = o->preserve_fds + request.activation.n_fds;
        request.root = invocation->root;
        request.plan = &plan;
        request.process = process;
        request.filter = plan.filter ? &filter : NULL;
        request.detached = o->detach;
        request.unlocked = status == OCI_STATUS_PAUSED;
        request.interruption = &e->supervisor.foreground.interruption;
        request.guard = &e->supervisor.guard;
        if (request.unlocked) /* the join lasts until somebody resumes the container, who needs the lock for that */
                container_unlock(&container);
        /* Until here a signal ends us at once: another command may keep the container locked for long. */
        if ((r = begin(invocation, o, &container, process->terminal, &request, e, err)) < 0)
                return r;
        return join(invocation->arena, &container, init, &request, &e->joined, err);
}

/* To its end, and its cgroup goes with it. */
static int stay(struct invocation *invocation, const char *id, struct execution *e, int *ret_status, struct error *err) {
        struct joined *joined = &e->joined;
        _cleanup_close_ int leaf = joined->leaf ? open(joined->leaf, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
        const struct supervised command = {
                .pidfd = joined->pidfd,
                .console = joined->console,
                .cgroup = leaf >= 0 ? leaf : e->own.fd,
                .around = e->own.container,
                .by_init = joined->sandboxed,
        };
        struct error second;
        int r, end;

        e->supervisor.foreground.ended = take_fd(&joined->ended);
        r = supervise_wait(&e->supervisor, &command, ret_status, err);
        end = join_end(invocation->arena, invocation->root, id, joined, r < 0 ? &second : err);
        if (e->supervisor.ending.limits && soft_is_sampled(e->supervisor.ending.limits))
                soft_check_of(invocation->arena, invocation->root, id, &e->supervisor.ending);
        return r < 0 ? r : end;
}

static void execution_close(struct execution *e) {
        close_fd(&e->slot);
        joined_close(&e->joined);
        command_cgroup_close(&e->own);
        supervise_close(&e->supervisor);
}

static int execute(struct invocation *invocation, const struct exec_options *o, char **operands, struct execution *e, int *ret_status,
        struct error *err) {
        struct error second;
        int r;

        do
                r = join_container(invocation, o, operands, e, err);
        while (r == 1);
        if (r < 0)
                *ret_status = 128 + e->supervisor.foreground.interruption.signal;
        else
                *ret_status = 0;
        if (r == 0 && !o->detach)
                r = stay(invocation, operands[0], e, ret_status, err);
        if (r < 0) {
                (void)command_cgroup_remove(&e->own, &second);
                return r;
        }
        return command_cgroup_remove(&e->own, err);
}

static int run(struct invocation *invocation, int argc, char **argv, int *ret_status, struct error *err) {
        __attribute__((cleanup(execution_close))) struct execution e = {
                .supervisor = SUPERVISOR_NOT, .slot = -1, .own = COMMAND_CGROUP_NONE, .joined = JOINED_NOTHING
        };
        struct exec_options o = { 0 };
        char **operands;
        int r;

        if ((r = command_parse(invocation, &command_exec, argc, argv, &o, 1, -1, &operands, NULL, err)) < 0 ||
                (r = supervise_options_read(&o.supervise, o.detach, o.console_socket, o.preserve_fds, &e.supervisor.asked, err)) < 0)
                return r;
        r = execute(invocation, &o, operands, &e, ret_status, err);
        return supervise_finish(&e.supervisor, invocation->arena, operands[0], r, ret_status, err);
}

const struct command command_exec = { "exec", "ID COMMAND…", "run one more process in a container", run, options, ELEMENTSOF(options), 255,
        OPTIONS_BEFORE_OPERAND };
