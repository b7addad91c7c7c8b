#define _GNU_SOURCE
#include "life/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "apply/affinity.h"
#include "apply/cgroup.h"
#include "apply/cgroup_delegate.h"
#include "apply/dev_nodes.h"
#include "apply/hooks.h"
#include "apply/idmap.h"
#include "apply/mounts.h"
#include "apply/net_devices.h"
#include "apply/rdt.h"
#include "apply/rlimits.h"
#include "apply/scheduler.h"
#include "apply/terminal.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/process.h"
#include "base/time.h"
#include "facts/facts.h"
#include "libocispec/spec.h"
#include "life/cgroup_claim.h"
#include "life/child.h"
#include "life/dialogue.h"
#include "life/gate.h"
#include "life/hook_state.h"
#include "life/pid_file.h"
#include "life/release.h"
#include "life/sync.h"
#include "life/usher.h"
#include "plan/annotations.h"

enum { STATUS_SCHEMA = 1 };

/* A launch under way: what the request asked for and what there is of it by now. */
struct launch {
        const struct launch_request *request;
        const struct plan_plan *plan;
        struct arena *arena;
        struct launched result;
        struct filter_program filter;
        struct child child;
        struct dialogue dialogue;
        int cgroup;
        bool usher;  /* the first process of ours is one */
        bool hooked; /* hooks outside have begun: from here on a failure owes them poststop */
};

/* ---- before the clone ---- */

static int fill_status(struct launch *l, struct error *err) {
        struct status_status *s = &l->result.container.status;
        const struct plan_plan *plan = l->plan;
        char boot_id[37];
        int r = process_boot_id(boot_id);

        if (r < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, -r, "/proc/sys/kernel/random/boot_id", "cannot read the boot id");
        *s = (struct status_status){
                .schema = STATUS_SCHEMA,
                .id = plan->id,
                .bundle = plan->bundle,
                .rootfs = plan->rootfs->path,
                .oci_version = plan->oci_version,
                .created = time_realtime_ns(),
                .owner = geteuid(),
                .boot_id = arena_strdup(l->arena, boot_id),
                .annotations = plan->annotations,
                .n_annotations = plan->n_annotations,
        };
        if (!(plan->namespaces->create & CLONE_NEWPID))
                s->has |= STATUS_STATUS_HAS_SHARED_PIDS, s->shared_pids = true;
        if (plan->hooks && plan->hooks->n_poststart)
                s->has |= STATUS_STATUS_HAS_POSTSTART, s->poststart = true;
        if (plan->hooks && plan->hooks->n_poststop)
                s->has |= STATUS_STATUS_HAS_POSTSTOP, s->poststop = true;
        if (plan->filter && plan->filter->listener_path)
                s->has |= STATUS_STATUS_HAS_LISTENER, s->listener = true;
        return 0;
}

/* The claim on the cgroup is on disk before the first directory of it is made. */
static int acquire_cgroup(struct launch *l, struct error *err) {
        const struct plan_cgroup *cgroup = l->plan->cgroup;
        struct container *c = &l->result.container;
        struct status_cgroup_claim *claim;
        int r;

        if (cgroup->manager == PLAN_CGROUP_MANAGER_DISABLED)
                return container_save(c, err);
        claim = arena_new(l->arena, struct status_cgroup_claim);
        claim->path = arena_printf(l->arena, "%s%s", facts_cgroup_mount(), cgroup->path);
        if ((r = cgroup_ours(claim->path, &claim->ours, err)) < 0 ||
            (claim->ours == 0 && (r = cgroup_claim_take_over(l->arena, l->request->root, c->id, claim, err)) < 0))
                return r;
        c->status.cgroup = claim;
        if ((r = container_save(c, err)) < 0)
                return r;
        log_debug("%s: making the cgroup %s", c->id, claim->path);
        return cgroup_create(claim->path, cgroup, &claim->ours, &l->cgroup, err);
}

/* The program's own socket, where somebody waits to be notified; an engine that has arranged for that itself says so in the environment. */
static int prepare_notify(struct launch *l, struct error *err) {
        const char *manager = l->request->activation.notify;
        struct container *c = &l->result.container;
        int r;

        if (!manager || !payload_add_variable(&l->child.payload, NOTIFY_VARIABLE))
                return 0;
        if ((r = notify_prepare(l->arena, c->dir, l->plan, &l->plan, err)) < 0)
                return r;
        l->child.plan = l->plan;
        c->status.notify = true;
        c->status.has |= STATUS_STATUS_HAS_NOTIFY;
        return l->request->wait_for_start ? 0 : notify_open(c->dir, manager, &l->result.notify, err);
}

/* The claim on what is made of it is on disk before that is made. */
static int acquire_rdt(struct launch *l, struct error *err) {
        struct container *c = &l->result.container;
        int r;

        if (!l->plan->rdt)
                return 0;
        if ((r = rdt_examine(l->arena, l->plan->rdt, l->plan->id, &c->status.rdt, err)) < 0 || (r = container_save(c, err)) < 0)
                return r;
        return rdt_make(l->plan->rdt, c->status.rdt, err);
}

/* A class of service that the launch made under a name that others may use is theirs as well from now on (config-linux.md: "MUST NOT
 * remove"). */
static int share_rdt(struct launch *l, struct error *err) {
        struct container *c = &l->result.container;

        if (!c->status.rdt || !c->status.rdt->ours || !c->status.rdt->shared)
                return 0;
        c->status.rdt->ours = false;
        return container_save(c, err);
}

static int make_hook_document(struct launch *l, enum oci_status status, struct hook_document *ret, struct error *err) {
        struct oci_state state = container_describe(l->arena, &l->result.container, status);
        struct str text = { 0 };
        char *at;
        int r;

        state.has |= OCI_STATE_HAS_PID;
        state.pid = INT32_MAX; /* ten digits, the room that hook_document_set_pid() fills */
        if ((r = spec_encode(&oci_state_type, &state, &text, 0, err)) < 0)
                return r;
        ret->text = arena_strndup(l->arena, text.text, text.size);
        ret->size = text.size;
        str_free(&text);
        at = strstr(ret->text, "\"pid\":2147483647");
        if (!at)
                return fail(err, CODE_INTERNAL, EINVAL, "hooks", "the state document has no pid");
        ret->pid = at + strlen("\"pid\":");
        return 0;
}

/* Trees for the mounts whose source the child could not reach (mounts.h). */
static int open_sources(struct launch *l, struct error *err) {
        for (size_t i = 0; i < l->plan->n_mounts; i++)
                if (mount_source_is_early(l->plan, i)) {
                        int *sources = arena_array(l->arena, int, l->plan->n_mounts);
                        int r = mount_sources_open(l->plan, sources, err);

                        if (r == 0)
                                l->child.sources = sources;
                        return r;
                }
        return 0;
}

/* Devices that the child cannot make (dev_nodes.h). */
static int make_devices(struct launch *l, struct error *err) {
        if (l->plan->bind_devices)
                return dev_nodes_check_host(l->plan, err);
        if (!l->plan->make_devices)
                return 0;
        l->child.devices = arena_array(l->arena, int, l->plan->n_devices);
        return dev_nodes_make(l->plan, &l->child.nodes, err);
}

static void list_kept(struct launch *l) {
        struct child *child = &l->child;
        size_t n_sources = child->sources ? l->plan->n_mounts : 0;
        int *kept = arena_array(l->arena, int, 5 + child->joins.n + n_sources);

        child->kept = kept;
        child->first_kept = 3 + l->request->preserve_fds;
        *kept++ = child->sync.child;
        *kept++ = child->gate;
        *kept++ = child->nodes;
        *kept++ = child->hook_output.out;
        *kept++ = child->hook_output.err;
        for (unsigned i = 0; i < child->joins.n; i++)
                *kept++ = child->joins.items[i].fd;
        for (size_t i = 0; i < n_sources; i++)
                *kept++ = child->sources[i];
        child->n_kept = (size_t)(kept - child->kept);
}

static int prepare_child(struct launch *l, struct error *err) {
        const struct plan_plan *plan = l->plan;
        const struct oci_hooks *hooks = plan->hooks;
        struct child *child = &l->child;
        int r;

        child->plan = plan;
        child->host[0] = l->result.container.root;
        child->host[1] = l->result.container.dir;
        child->host[2] = l->cgroup;
        child->userns = namespaces_has(plan->namespaces, CLONE_NEWUSER);
        child->exposed = !child->userns && namespaces_joins(plan->namespaces, CLONE_NEWPID);
        l->usher = usher_needed(plan->namespaces);
        child->unmapped = !l->usher && plan->namespaces->create & CLONE_NEWUSER;
        child->new_network = plan->namespaces->create & CLONE_NEWNET;
        child->documented = hooks && (hooks->n_prestart || hooks->n_create_runtime || hooks->n_create_container || hooks->n_start_container);
        child->rendezvous = child->documented || plan->n_net_devices;
        payload_prepare(l->arena, plan, plan->process, plan->filter ? &l->filter : NULL, &child->payload);
        activation_tell(l->arena, &l->request->activation, &child->payload);
        if ((r = prepare_notify(l, err)) < 0)
                return r;
        if (child->documented && ((r = make_hook_document(l, OCI_STATUS_CREATING, &child->creating, err)) < 0 ||
                                  (r = make_hook_document(l, OCI_STATUS_CREATED, &child->created, err)) < 0 ||
                                  (r = hook_output_of(&l->result.container, &child->hook_output, err)) < 0))
                return r;
        if ((r = open_sources(l, err)) < 0 || (r = make_devices(l, err)) < 0 ||
            (r = namespaces_open(plan->namespaces, &child->joins, err)) < 0 ||
            (r = namespaces_check_own(plan, &child->joins, err)) < 0 || (r = sync_open(&child->sync, err)) < 0 ||
            (l->usher && (r = sync_ask_pids(child->sync.runtime, err)) < 0))
                return r;
        if (l->request->wait_for_start && (r = gate_open(l->result.container.dir, &child->gate, err)) < 0)
                return r;
        list_kept(l);
        return 0;
}

static void drop_sources(struct launch *l) {
        if (l->child.sources)
                mount_sources_close(l->plan, l->child.sources);
        l->child.sources = NULL;
        close_fd(&l->child.nodes);
}

static int write_maps(struct launch *l, struct error *err) {
        int r = idmap_write(l->result.pid, l->plan->ids, err);

        if (r < 0)
                return r;
        log_debug("%s: id maps are written", l->plan->id);
        return sync_tell(l->child.sync.runtime, TOKEN_MAPPED, 0, err);
}

/* From the usher to the process that it makes. */
static int follow_usher(struct launch *l, struct error *err) {
        int pidfd = -1, status, r;

        if (l->plan->namespaces->create & CLONE_NEWUSER &&
            ((r = dialogue_until(&l->dialogue, REPORT_UNMAPPED, err)) < 0 || (r = write_maps(l, err)) < 0))
                return r;
        if ((r = dialogue_until(&l->dialogue, REPORT_BORN, err)) < 0)
                return r;
        /* In a joined pid namespace somebody may have taken hold of it already, and speak for it; but only of a child of ours. */
        if (l->dialogue.born == l->result.pid || (r = process_adopt(l->dialogue.born, &pidfd)) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, r < 0 ? -r : EPROTO, "", "cannot find the container's process");
        process_reap(l->result.pidfd, &status);
        close_fd(&l->result.pidfd);
        l->result.pidfd = pidfd;
        l->result.pid = l->dialogue.pid = l->dialogue.born;
        return 0;
}

static int clone_child(struct launch *l, struct error *err) {
        int r = 0;

        l->result.pid = process_clone(l->usher ? 0 : namespaces_of_clone(l->plan->namespaces), l->usher ? -1 : l->cgroup, &l->result.pidfd);
        if (l->result.pid == 0) {
                if (l->usher)
                        usher_main(&l->child, l->cgroup);
                child_main(&l->child);
        }
        close_fd(&l->child.sync.child);
        close_fd(&l->child.gate);
        hook_output_close(&l->child.hook_output);
        drop_sources(l);
        l->dialogue = (struct dialogue){ .socket = l->child.sync.runtime, .interruption = l->request->interruption, .console_socket = l->request->console_socket,
                                         .container = &l->result.container, .filter = l->plan->filter, .arena = l->arena,
                                         .pid = l->result.pid, .console = -1 };
        if (l->result.pid == -EAGAIN)
                return fail(err, CODE_RESOURCE_EXHAUSTED, EAGAIN, "linux.resources.pids.limit", "the limit on processes is reached: no child can be made");
        /* cgroup-v2.rst, "Threads": what is made below a threaded one cannot hold processes. */
        if (l->result.pid == -EOPNOTSUPP && l->cgroup >= 0)
                return fail(err, CODE_BUSY, EOPNOTSUPP, "linux.cgroupsPath", "%s is below a threaded cgroup, where no container can live",
                            l->result.container.status.cgroup->path);
        if (l->result.pid < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, -l->result.pid, "", "cannot make the container's process");
        if (l->usher && (r = follow_usher(l, err)) < 0)
                return r;
        log_debug("%s: its first process is %d, in new namespaces %#llx", l->plan->id, l->result.pid,
                  (unsigned long long)l->plan->namespaces->create);
        return 0;
}

/* ---- while the child builds its tree ---- */

static int claim_init(struct launch *l, struct error *err) {
        struct container *c = &l->result.container;
        struct status_process_claim *init = arena_new(l->arena, struct status_process_claim);
        bool dead;
        int r;

        init->pid = l->result.pid;
        r = process_start_time(init->pid, &init->start_time, &dead);
        if (r < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, -r, "", "cannot read the start time of the container's process");
        c->status.init = init;
        if (c->status.cgroup)
                cgroup_claim_identify(c->status.cgroup, l->cgroup);
        return container_save(c, err);
}

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

/* What only the runtime outside can do for the child, then the word to go on. */
static int serve_child(struct launch *l, struct error *err) {
        const struct plan_plan *plan = l->plan;
        struct child *child = &l->child;
        bool ready = scheduler_asked(plan->process);
        const char *delegated;
        int r;

        if ((r = affinity_reset(l->result.pid, err)) < 0 || (r = rdt_enter(l->result.container.status.rdt, l->result.pid, err)) < 0)
                return r;
        if (child->unmapped) {
                if ((r = write_maps(l, err)) < 0)
                        return r;
        }
        /* Before the first hook: whoever deletes what is left of us when we are killed finds the poststop hooks there (life/end.c). */
        if ((r = container_save_plan(&l->result.container, plan, plan->filter ? &l->filter : NULL, err)) < 0)
                return r;
        if (child->rendezvous && (r = serve_namespaces(l, err)) < 0)
                return r;
        if (ready && ((r = dialogue_until(&l->dialogue, REPORT_READY, err)) < 0 ||
                      (r = scheduler_set(l->result.pid, plan->process, err)) < 0))
                return r;
        if (l->cgroup >= 0) {
                if ((r = cgroup_limit(l->cgroup, plan->cgroup, err)) < 0)
                        return r;
                log_debug("%s: the cgroup has its limits", plan->id);
        }
        delegated = annotation_find(plan->annotations, plan->n_annotations, "run.oci.delegate-cgroup");
        /* A terminal comes with what is heard before READY, and wants its size before the program asks for it. A cgroup namespace, which is
         * there by then, begins at the container's own cgroup. */
        if (l->request->wait_for_start || child->userns || plan->process->terminal || delegated) {
                if (!ready && (r = dialogue_until(&l->dialogue, REPORT_READY, err)) < 0)
                        return r;
                log_debug("%s: everything is in place inside", plan->id);
                if (delegated && *delegated && (r = delegate(l, delegated, err)) < 0)
                        return r;
                /* The container's user namespace has no CAP_SYS_RESOURCE over us; its runtime may have. */
                if (child->userns && (r = rlimits_set_of(l->result.pid, plan->process, err)) < 0)
                        return r;
        }
        if ((r = send_pidfd(l, err)) < 0)
                return r;
        r = pid_file_write(l->request->pid_file, l->result.pid, err);
        return r < 0 ? r : share_rdt(l, err);
}

static int go(struct launch *l, struct error *err) {
        struct container *c = &l->result.container;
        int r;

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
        if (l->request->detach && l->result.notify.inside >= 0) {
                l->result.notify.main_pid = l->result.pid;
                notify_wait(&l->result.notify, l->result.pidfd);
        }
        return hooks_run_poststart(l->arena, c, l->plan, l->request->interruption, err);
}

static int launch_steps(struct launch *l, struct error *err) {
        int r;

        if ((r = fill_status(l, err)) < 0 ||
            (r = acquire_cgroup(l, err)) < 0 ||
            (r = acquire_rdt(l, err)) < 0 ||
            (r = prepare_child(l, err)) < 0 ||
            (r = clone_child(l, err)) < 0 ||
            (r = claim_init(l, err)) < 0 ||
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

int launch(struct arena *arena, const struct launch_request *request, struct launched *ret, struct error *err) {
        struct launch l = {
                .request = request, .plan = request->plan, .arena = arena, .result = LAUNCHED_NOTHING, .cgroup = -1,
                .dialogue = { .socket = -1, .console = -1 },
                .child = { .sync = SYNC_CLOSED, .gate = -1, .nodes = -1, .hook_output = HOOK_OUTPUT_OURS },
        };
        int r;

        /* Whatever our caller left open stays out of the container and of every hook, but the ones it asked to keep. */
        if (syscall(SYS_close_range, 3 + request->preserve_fds, ~0u, CLOSE_RANGE_CLOEXEC) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "", "cannot mark inherited descriptors close-on-exec");
        if (request->preserve_fds && (r = fd_reserve(3, request->preserve_fds)) < 0)
                return fail_errno(err, CODE_USAGE, -r, "--preserve-fds", "cannot keep %u descriptors", request->preserve_fds);
        if (l.plan->filter && (r = filter_build(arena, l.plan->filter->rules, &l.filter, err)) < 0)
                return r;
        if ((r = container_create(request->root, l.plan->id, &l.result.container, err)) < 0)
                return r;
        r = launch_steps(&l, err);
        if (r < 0)
                undo(&l, err);
        drop_sources(&l);
        namespaces_close(&l.child.joins);
        sync_close(&l.child.sync);
        close_fd(&l.child.gate);
        hook_output_close(&l.child.hook_output);
        close_fd(&l.cgroup);
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
        notify_close(&launched->notify);
        container_close(&launched->container);
}
