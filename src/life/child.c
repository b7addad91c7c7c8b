#define _GNU_SOURCE
#include "life/child.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "apply/credentials.h"
#include "apply/dev.h"
#include "apply/dev_nodes.h"
#include "apply/hooks.h"
#include "apply/idmap.h"
#include "apply/loopback.h"
#include "apply/masks.h"
#include "apply/mounts.h"
#include "apply/rlimits.h"
#include "apply/rootfs.h"
#include "apply/sysctl.h"
#include "apply/terminal.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/str.h"
#include "life/notify.h"
#include "life/sandbox_init.h"

int child_not_made(const struct plan_plan *plan, int r, struct error *err) {
        if (r == -EAGAIN)
                return fail(err, CODE_RESOURCE_EXHAUSTED, EAGAIN, "linux.resources.pids.limit", "the limit on processes is reached: no child can be made");
        /* cgroup-v2.rst, "Threads": what is made below a threaded one cannot hold processes. */
        if (r == -EOPNOTSUPP && plan->cgroup->path)
                return fail(err, CODE_BUSY, EOPNOTSUPP, "linux.cgroupsPath", "%s is below a threaded cgroup, where no container can live",
                            plan->cgroup->path);
        return fail_errno(err, CODE_LAUNCH_FAILED, -r, "", "cannot make the container's process");
}

void hook_document_set_pid(struct hook_document *document, pid_t pid) {
        char digits[HOOK_PID_DIGITS + 1];

        snprintf(digits, sizeof digits, "%*d", HOOK_PID_DIGITS, pid);
        memcpy(document->pid, digits, HOOK_PID_DIGITS);
}

/* Namespaces, and who we are in them. Not dumpable from the first moment that allows it: in a user namespace the parent could not
 * write our id maps before; afterwards nobody inside may ptrace us or look through /proc/PID (CVE-2016-9962, CVE-2026-41163). */
static int enter_namespaces(struct child *child, struct error *err) {
        const struct plan_plan *plan = child->plan;
        int r;

        if (child->unmapped)
                sync_await(child->sync.child, TOKEN_MAPPED);
        if (child->userns) {
                if ((r = idmap_become_root(plan->ids, err)) < 0)
                        return r;
        }
        if ((r = credentials_hide(err)) < 0 || (r = namespaces_enter(plan->namespaces, &child->joins, err)) < 0)
                return r;
        if (child->rendezvous) {
                pid_t pid;

                if ((r = sync_report(child->sync.child, REPORT_NAMESPACES, -1)) < 0)
                        return fail_errno(err, CODE_LAUNCH_FAILED, -r, "", "cannot report to the runtime");
                pid = sync_await(child->sync.child, TOKEN_HOOKED);
                if (child->documented) {
                        hook_document_set_pid(&child->creating, pid);
                        hook_document_set_pid(&child->created, pid);
                }
        }
        return 0;
}

static int set_names(const struct plan_plan *plan, struct error *err) {
        if (plan->hostname && sethostname(plan->hostname, strlen(plan->hostname)) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "hostname", "cannot set the host name");
        if (plan->domainname && setdomainname(plan->domainname, strlen(plan->domainname)) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "domainname", "cannot set the domain name");
        return 0;
}

/* A session keyring of its own, so that the container cannot search its caller's (keyctl(2), KEYCTL_JOIN_SESSION_KEYRING). A kernel
 * without keyrings has nothing to hide. */
static int join_keyring(const struct plan_plan *plan, struct error *err) {
        if (!plan->keyring || syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) >= 0 || errno == ENOSYS)
                return 0;
        return fail_errno(err, errno == EDQUOT ? CODE_RESOURCE_EXHAUSTED : CODE_LAUNCH_FAILED, errno, "",
                          "cannot make a session keyring; --no-new-keyring goes on without");
}

static int make_terminal(struct child *child, int root, int *ret_slave, struct error *err) {
        const struct plan_process *process = child->plan->process;
        _cleanup_close_ int master = -1;
        int r;

        if (!process->terminal)
                return 0;
        r = terminal_open(root, process->console_width, process->console_height, &master, ret_slave, err);
        if (r == 0)
                r = terminal_own(*ret_slave, process->uid, err);
        if (r == 0 && (r = sync_report(child->sync.child, REPORT_CONSOLE, master)) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, -r, "process.terminal", "cannot hand over the terminal");
        return r;
}

static int take_nodes(struct child *child, int root, struct error *err) {
        int r;

        if (!child->devices)
                return 0;
        r = dev_nodes_take(child->plan, root, child->nodes, child->devices, err);
        close_fd(&child->nodes);
        return r;
}

/* Builds the container's tree and moves into it. */
static int enter_root(struct child *child, int *ret_slave, struct error *err) {
        const struct plan_plan *plan = child->plan;
        _cleanup_close_ int root = -1;
        int r;

        if ((r = payload_begin(&child->payload, err)) < 0 ||
            (r = rootfs_prepare(plan, &root, err)) < 0 ||
            (r = mounts_attach(plan, root, child->sources, err)) < 0 ||
            (r = take_nodes(child, root, err)) < 0 ||
            (r = dev_populate(plan, root, child->devices, err)) < 0 ||
            (r = make_terminal(child, root, ret_slave, err)) < 0 ||
            (child->notifies && (r = notify_bind(root, &child->notify, err)) < 0))
                return r;
        if (plan->hooks) {
                const struct hook_context context = {
                        .state = child->creating.text,
                        .state_size = child->creating.size,
                        .directory = plan->bundle,
                        .output = child->hook_output,
                };

                if ((r = hooks_run("createContainer", plan->hooks->create_container, plan->hooks->n_create_container, &context, err)) < 0)
                        return r;
        }
        if ((r = sysctls_write(plan, err)) < 0 ||
            (r = masks_apply(plan, root, err)) < 0)
                return r;
        return rootfs_enter(plan, root, err);
}

static int host_stays(int r, struct error *err) {
        return fail_errno(err, CODE_LAUNCH_FAILED, -r, "", "cannot close the descriptors that lead to the host");
}

/* Close-on-exec is too late: execve(2) looks up the program and its interpreter while all descriptors are still open, and an image may have
 * made either a symlink to /proc/self/fd/N/../.., which leads to the host's tree from any directory of ours or of our caller's
 * (CVE-2024-21626). */
static int forget_host(const struct child *child, struct error *err) {
        int needed[] = { child->sync.child, child->gate, child->notify, child->monitor, child->payload.proc, child->hook_output.out, child->hook_output.err,
                         namespaces_fd(&child->joins, CLONE_NEWNS) /* leads to no directory */ };
        int r = fd_keep_only(child->first_kept, needed, ELEMENTSOF(needed));

        return r < 0 ? host_stays(r, err) : 0;
}

__attribute__((noreturn)) static void leave(int signal) {
        _exit(128 + signal);
}

/* The first process of a pid namespace gets only signals that it has a handler for (pid_namespaces(7)), and `kill` means a container that was
 * never started, too. Before READY: when `create` returns nobody knows how far we have come after GO. execve(2) takes the handlers away. */
void child_heed_signals(void) {
        static const int ending[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2 };
        const struct sigaction action = { .sa_handler = leave };

        for (size_t i = 0; i < ELEMENTSOF(ending); i++)
                (void)sigaction(ending[i], &action, NULL);
}

int child_await_start(struct child *child, struct error *err) {
        int connection;

        if (child->gate < 0)
                return 0;
        close_fd(&child->sync.child);
        do
                connection = accept4(child->gate, NULL, NULL, SOCK_CLOEXEC);
        while (connection < 0 && errno == EINTR);
        if (connection < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "", "cannot wait for start");
        close_fd(&child->gate);
        child->sync.child = connection;
        return 0;
}

/* To who started us, who may have nobody to tell. */
static int hand_over_notify(struct child *child, struct error *err) {
        int r = child->notify < 0 ? 0 : sync_report(child->sync.child, REPORT_NOTIFY, child->notify);

        close_fd(&child->notify);
        return r < 0 ? fail_errno(err, CODE_LAUNCH_FAILED, -r, "NOTIFY_SOCKET", "cannot hand over the program's socket") : 0;
}

/* Their programs are files of the container, so the image says what they do: they run as what the payload is, with its user, capabilities,
 * labels and filters, as with runc and crun. A filter that needs no_new_privs goes on later than that for the payload. */
int child_run_start_hooks(struct child *child, struct error *err) {
        const struct payload *payload = &child->payload;
        const struct oci_hooks *hooks = child->plan->hooks;
        const struct hook_context context = {
                .state = child->created.text,
                .state_size = child->created.size,
                .environment = payload->env,
                .output = child->hook_output,
                .own_filter = payload->process->no_new_privileges && payload->own_filter.count ? &payload->own_filter : NULL,
                .filter = payload->process->no_new_privileges ? payload->filter : NULL,
                .filter_flags = payload->filter ? child->plan->filter->flags : 0,
        };
        int r = hooks ? hooks_run("startContainer", hooks->start_container, hooks->n_start_container, &context, err) : 0;

        hook_output_close(&child->hook_output); /* files of the host's */
        return r;
}

/* Into the mount namespace that is joined: as late as can be, because it is not ours alone, and whatever fails before leaves it as it was. */
static int move_in(struct child *child, struct error *err) {
        const struct plan_process *process = child->plan->process;
        int r;

        if (!namespaces_joins(child->plan->namespaces, CLONE_NEWNS))
                return 0;
        if ((r = rootfs_move(child->plan, &child->joins, err)) < 0 || (process->terminal && (r = terminal_reopen(err)) < 0))
                return r;
        return process->args && !child->payload.cwd_later ? cwd_enter(process->cwd, err) : 0;
}

static int become_container(struct child *child, struct error *err) {
        const struct plan_plan *plan = child->plan;
        _cleanup_close_ int slave = -1;
        bool early;
        int r;

        if ((r = enter_namespaces(child, err)) < 0 ||
            (r = set_names(plan, err)) < 0 ||
            (child->new_network && (r = loopback_up(err)) < 0) ||
            (r = enter_root(child, &slave, err)) < 0 ||
            (r = join_keyring(plan, err)) < 0)
                return r;
        if (setsid() < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "", "cannot begin a session");
        if (slave >= 0 && (r = terminal_become(slave, err)) < 0)
                return r;
        close_fd(&slave);
        if ((r = forget_host(child, err)) < 0)
                return r;
        if (plan->sandbox)
                return sandbox_init(child, err);
        if (plan->process->args && (r = payload_settle(&child->payload, err)) < 0)
                return r;
        if ((r = move_in(child, err)) < 0 || (!child->userns && (r = rlimits_set(plan->process, err)) < 0))
                return r;

        /* Until `start` somebody in a joined pid namespace who holds CAP_SYS_PTRACE has all the time he wants to take us over: of what he
         * could do with it then, the payload could do as much. */
        early = child->exposed && payload_may_wait(&child->payload);
        if (early && (r = payload_drop(&child->payload, child->sync.child, err)) < 0)
                return r;
        if (child->gate >= 0)
                child_heed_signals();
        if ((r = sync_report(child->sync.child, REPORT_READY, -1)) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, -r, "", "cannot report to the runtime");
        sync_await(child->sync.child, TOKEN_GO);
        if ((r = child_await_start(child, err)) < 0 || (r = hand_over_notify(child, err)) < 0)
                return r;

        if ((!early && (r = payload_drop(&child->payload, child->sync.child, err)) < 0) || (r = child_run_start_hooks(child, err)) < 0)
                return r;
        return payload_execute(&child->payload, child->sync.child, err);
}

void child_main(struct child *child) {
        struct error err;
        int r;

        /* Our copy of the runtime's end, or its death would go unnoticed; of the container's directory, whose lock lives as long as any
         * copy does (flock(2)); and whatever else forget_host() would keep if it lies among the preserved ones. */
        close_fd(&child->sync.runtime);
        log_close();
        for (size_t i = 0; i < ELEMENTSOF(child->host); i++)
                close_fd(&child->host[i]);
        /* Nor anything else of the host: until `start` we wait where others may be, in a pod's pid namespace, and whoever has
         * CAP_SYS_PTRACE there may look through /proc/PID/fd whatever our dumpable flag says. */
        r = fd_keep_only(child->first_kept, child->kept, child->n_kept);
        if ((r < 0 ? host_stays(r, &err) : 0) < 0 || output_relay_take(child->output, &err) < 0 || become_container(child, &err) < 0)
                sync_report_error(child->sync.child, &err);
        _exit(1);
}
