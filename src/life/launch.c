#define _GNU_SOURCE
#include "life/launch_steps.h"

#include <errno.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "apply/affinity.h"
#include "apply/cgroup.h"
#include "apply/cgroup_delegate.h"
#include "apply/hooks.h"
#include "apply/net_devices.h"
#include "apply/rdt.h"
#include "apply/rlimits.h"
#include "apply/scheduler.h"
#include "apply/terminal.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/process.h"
#include "life/gate.h"
#include "life/hook_state.h"
#include "life/pid_file.h"
#include "life/release.h"
#include "life/streams.h"
#include "life/sync.h"
#include "life/workspace.h"
#include "plan/annotations.h"

static int run_outer_hooks(struct launch *l, struct error *err) {
        const struct oci_hooks *hooks = l->plan->hooks;
        _cleanup_hook_context_ struct hook_context context = HOOK_CONTEXT_EMPTY;
        int r;

        if ((r = hook_context_of(l->arena, &l->result.container, OCI_STATUS_CREATING, &context, err)) < 0)
                return r;
        l->hooked = true;
        context.process = &l->result.pidfd;
        context.interruption = l->request->interruption;
        if ((r = hooks_run("prestart", hooks->prestart, hooks->n_prestart, &context, err)) < 0 ||
            (r = hooks_run("createRuntime", hooks->create_runtime, hooks->n_create_runtime, &context, err)) < 0)
                return r;
        return 0;
}

/* What happens out here between the child's namespaces and its mounts. Devices first, as runc does it: a hook may want to configure them. */
static int serve_namespaces(struct launch *l, struct error *err) {
        int r = dialogue_until(&l->dialogue, REPORT_NAMESPACES, err);

        if (r < 0 || (l->plan->n_net_devices && (r = net_devices_move(l->plan, l->result.pid, err)) < 0) ||
            (l->child.documented && (r = run_outer_hooks(l, err)) < 0))
                return r;
        return sync_tell(l->child.sync.runtime, TOKEN_HOOKED, l->result.pid, err);
}

static int send_pidfd(const struct launch *l, struct error *err) {
        const char *receiver = annotation_find(l->plan->annotations, l->plan->n_annotations, "run.oci.pidfd_receiver");
        int r = pidfd_send(l->request->pidfd_socket, "--pidfd-socket", "standard", l->result.pidfd, err);

        return r < 0 ? r : pidfd_send(receiver, "annotations[\"run.oci.pidfd_receiver\"]", "standard", l->result.pidfd, err);
}

/* What is made in a cgroup of somebody else's would stay there. */
static int delegate(struct launch *l, const char *below, struct error *err) {
        const struct status_cgroup_claim *claim = l->result.container.status.cgroup;

        if (!claim || claim->ours == 0)
                return fail(err, CODE_CONFIG_INVALID, EINVAL, "annotations[\"run.oci.delegate-cgroup\"]",
                            "expected a cgroup that is made for this container, found %s", claim ? claim->path : "none");
        return cgroup_delegate(l->cgroup, below, l->plan->ids, l->result.pid, err);
}

/* What is left to do once everything is in place inside. */
static int settle(struct launch *l, const char *delegated, struct error *err) {
        int r;

        log_debug("%s: everything is in place inside", l->plan->id);
        if (delegated && *delegated && (r = delegate(l, delegated, err)) < 0)
                return r;
        /* The container's user namespace has no CAP_SYS_RESOURCE over us; its runtime may have. */
        return l->child.userns && !l->plan->sandbox ? rlimits_set_of(l->result.pid, l->plan->process, err) : 0;
}

/* A sandbox is built before it is limited: with little CPU time that would take long, and what runs in it begins later (launch_sandbox.c).
 * A scheduling policy comes before the limits of the cgroup (sched(7): SCHED_DEADLINE is not to be had within a cpuset), and both when the
 * child has nothing more to set up that either would hinder. */
static int limit(struct launch *l, struct error *err) {
        const struct plan_plan *plan = l->plan;
        const char *delegated = annotation_find(plan->annotations, plan->n_annotations, "run.oci.delegate-cgroup");
        bool ready = scheduler_asked(plan->process) || plan->sandbox;
        int r;

        if (ready && ((r = dialogue_until(&l->dialogue, REPORT_READY, err)) < 0 ||
                      (!plan->sandbox && (r = scheduler_set(l->result.pid, plan->process, err)) < 0)))
                return r;
        if (l->cgroup >= 0) {
                if ((r = cgroup_limit(l->cgroup, plan->cgroup, err)) < 0)
                        return r;
                log_debug("%s: the cgroup has its limits", plan->id);
        }
        /* A terminal comes with what is heard before READY, and wants its size before the program asks for it. A cgroup namespace, which is
         * there by then, begins at the container's own cgroup. */
        if (!l->request->wait_for_start && !l->child.userns && !plan->process->terminal && !delegated)
                return 0;
        if (!ready && (r = dialogue_until(&l->dialogue, REPORT_READY, err)) < 0)
                return r;
        return settle(l, delegated, err);
}

/* What only the runtime outside can do for the child, and what others are told of it. */
static int serve_child(struct launch *l, struct error *err) {
        int r;

        if ((r = affinity_reset(l->result.pid, err)) < 0 ||
            (r = rdt_enter(l->result.container.status.rdt, l->result.pid, err)) < 0 ||
            (l->child.unmapped && (r = launch_write_maps(l, err)) < 0) ||
            /* Before the first hook: whoever deletes what is left of us when we are killed finds the poststop hooks there (life/end.c). */
            (r = container_save_plan(&l->result.container, l->plan, l->plan->filter ? &l->filter : NULL, err)) < 0 ||
            (l->child.rendezvous && (r = serve_namespaces(l, err)) < 0) ||
            (r = limit(l, err)) < 0 ||
            (r = send_pidfd(l, err)) < 0 ||
            (r = pid_file_write(l->request->pid_file, l->result.pid, err)) < 0)
                return r;
        return launch_share_rdt(l, err);
}

static int go(struct launch *l, struct error *err) {
        struct container *c = &l->result.container;
        int r;

        if ((r = guard_tell(l->request->guard, l->result.pidfd, c->status.cgroup && c->status.cgroup->ours ? l->cgroup : -1, err)) < 0)
                return r;
        if (l->plan->sandbox && ((l->monitor && (r = launch_begin_monitor(l, err)) < 0) || (r = launch_begin_commands(l, err)) < 0))
                return r;
        if (l->plan->sandbox)
                return l->request->wait_for_start ? 0 : hooks_run_poststart(l->arena, c, l->plan, l->request->interruption, err);
        if (l->request->wait_for_start) {
                if ((r = gate_ready(c->dir, err)) < 0)
                        return r;
                return sync_tell(l->child.sync.runtime, TOKEN_GO, 0, err);
        }
        container_unlock(c); /* startContainer and poststart hooks may take long, and kill and delete must get through */
        if ((r = sync_tell(l->child.sync.runtime, TOKEN_GO, 0, err)) < 0 || (r = dialogue_until(&l->dialogue, REPORT_GONE, err)) < 0)
                return r;
        log_debug("%s: the program runs", c->id);
        l->hooked = l->plan->hooks; /* it was there, whatever comes now */
        if ((r = notify_begin(&l->result.notify, &l->dialogue.notify, err)) < 0)
                return r;
        if (l->request->detach && l->result.notify.inside >= 0) {
                l->result.notify.main_pid = l->result.pid;
                notify_wait(&l->result.notify, l->result.pidfd);
        }
        return hooks_run_poststart(l->arena, c, l->plan, l->request->interruption, err);
}

static int launch_steps(struct launch *l, struct error *err) {
        int r;

        if ((r = launch_claim_status(l, err)) < 0 ||
            (l->plan->sandbox && (r = workspace_claim(l->arena, &l->result.container, l->plan, err)) < 0) ||
            (r = launch_claim_cgroup(l, err)) < 0 ||
            (r = launch_claim_rdt(l, err)) < 0 ||
            (r = launch_prepare_child(l, err)) < 0 ||
            (r = launch_clone_child(l, err)) < 0 ||
            (r = launch_claim_init(l, err)) < 0 ||
            (r = serve_child(l, err)) < 0)
                return r;
        return go(l, err);
}

/* Undoes a failed launch. The first error is the one to tell; that the undoing failed too shows in its effect. */
static void undo(struct launch *l, struct error *err) {
        struct container *c = &l->result.container;
        _cleanup_hook_context_ struct hook_context context = HOOK_CONTEXT_EMPTY;
        struct error second;
        int status;

        log_debug("%s: failed, undoing what was done", c->id);
        sync_close(&l->child.sync);
        if (l->result.pidfd >= 0) {
                process_signal(l->result.pidfd, SIGKILL);
                process_reap(l->result.pidfd, &status);
        }
        if (l->dialogue.console >= 0)
                terminal_show_rest(l->dialogue.console);
        if (container_lock(c, &second) < 0) /* deleted by somebody else, hooks and all */
                return;
        if (release(c, &second) < 0)
                err->effect = EFFECT_APPLIED;
        container_unlock(c);
        if (l->hooked && hook_context_of(l->arena, c, OCI_STATUS_STOPPED, &context, &second) == 0)
                hooks_run_all("poststop", l->plan->hooks->poststop, l->plan->hooks->n_poststop, &context);
}

static int check_streams(const struct launch_request *request, struct error *err) {
        const struct streams_use use = { .preserved = request->preserve_fds, .stays = !request->wait_for_start && !request->detach,
                                         .relayed = request->output };

        return streams_check(request->plan->process, &use, err);
}

int launch(struct arena *arena, const struct launch_request *request, struct launched *ret, struct error *err) {
        struct launch l = {
                .request = request, .plan = request->plan, .arena = arena, .result = LAUNCHED_NOTHING, .cgroup = -1, .init_leaf = -1,
                .dialogue = { .socket = -1, .console = -1, .notify = -1 },
                .child = { .sync = SYNC_CLOSED, .gate = -1, .notify = -1, .monitor = -1, .nodes = -1, .hook_output = HOOK_OUTPUT_OURS },
        };
        int r;

        /* Whatever our caller left open stays out of the container and of every hook, but the ones it asked to keep. */
        if (syscall(SYS_close_range, 3 + request->preserve_fds, ~0u, CLOSE_RANGE_CLOEXEC) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "", "cannot mark inherited descriptors close-on-exec");
        if (request->preserve_fds && (r = fd_reserve(3, request->preserve_fds)) < 0)
                return fail_errno(err, CODE_USAGE, -r, "--preserve-fds", "cannot keep %u descriptors", request->preserve_fds);
        if (l.plan->filter && (r = filter_build(arena, l.plan->filter->rules, &l.filter, err)) < 0)
                return r;
        if (l.plan->sandbox && (r = check_streams(request, err)) < 0)
                return r;
        if ((r = container_create(request->root, l.plan->id, &l.result.container, err)) < 0)
                return r;
        r = launch_steps(&l, err);
        if (r < 0)
                undo(&l, err);
        launch_drop_sources(&l);
        if (l.monitor)
                launch_drop_monitor(&l);
        close_fd(&l.child.monitor);
        namespaces_close(&l.child.joins);
        sync_close(&l.child.sync);
        close_fd(&l.child.gate);
        hook_output_close(&l.child.hook_output);
        close_fd(&l.cgroup);
        close_fd(&l.init_leaf);
        close_fd(&l.dialogue.notify);
        if (r < 0) {
                close_fd(&l.dialogue.console);
                launched_close(&l.result);
                return r;
        }
        l.result.console = l.dialogue.console;
        *ret = l.result;
        return 0;
}

void launched_close(struct launched *launched) {
        close_fd(&launched->pidfd);
        close_fd(&launched->console);
        close_fd(&launched->ended);
        notify_close(&launched->notify);
        container_close(&launched->container);
}
