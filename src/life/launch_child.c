#define _GNU_SOURCE
#include "life/launch_steps.h"

#include <errno.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include "apply/dev_nodes.h"
#include "apply/idmap.h"
#include "apply/mounts.h"
#include "apply/oom.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/process.h"
#include "libocispec/spec.h"
#include "life/gate.h"
#include "life/hook_state.h"
#include "life/soft.h"
#include "life/tracers.h"
#include "life/usher.h"

/* The program's own socket, where somebody waits to be notified; an engine that has arranged for that itself says so in the environment. */
static int prepare_notify(struct launch *l, struct error *err) {
        const char *manager = l->request->activation.notify;
        struct container *c = &l->result.container;

        if (!manager || l->plan->sandbox || !payload_add_variable(&l->child.payload, NOTIFY_VARIABLE))
                return 0;
        l->plan = notify_mount(l->arena, l->plan);
        l->child.plan = l->plan;
        l->child.notifies = true;
        c->status.notify = true;
        c->status.has |= STATUS_STATUS_HAS_NOTIFY;
        return l->request->wait_for_start ? 0 : notify_connect(manager, &l->result.notify, err);
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

static bool limits_disk(const struct plan_plan *plan) {
        return plan->sandbox && plan->sandbox->limits->disk == SAGE_LIMIT_STATE_HARD;
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

/* Those who are in the pid namespace that is joined may trace from now on whoever is let into it. */
static int tell_of_tracer(struct launch *l, struct error *err) {
        struct stat pids;

        if (!l->child.exposed || !tracers_possible(l->plan->process) || fstat(namespaces_fd(&l->child.joins, CLONE_NEWPID), &pids) < 0)
                return 0;
        return tracers_tell(l->arena, l->request->root, l->plan->id, &pids, err);
}

static void list_kept(struct launch *l) {
        struct child *child = &l->child;
        size_t n_sources = child->sources ? l->plan->n_mounts : 0;
        int *kept = arena_array(l->arena, int, 6 + OUTPUT_STREAMS + child->joins.n + n_sources);

        child->kept = kept;
        child->first_kept = 3 + l->request->preserve_fds;
        *kept++ = child->sync.child;
        *kept++ = child->gate;
        *kept++ = child->nodes;
        *kept++ = child->monitor;
        *kept++ = child->hook_output.out;
        *kept++ = child->hook_output.err;
        for (int i = 0; child->output && i < OUTPUT_STREAMS; i++)
                *kept++ = child->output->streams[i].given;
        for (unsigned i = 0; i < child->joins.n; i++)
                *kept++ = child->joins.items[i].fd;
        for (size_t i = 0; i < n_sources; i++)
                *kept++ = child->sources[i];
        child->n_kept = (size_t)(kept - child->kept);
}

int launch_prepare_child(struct launch *l, struct error *err) {
        const struct plan_plan *plan = l->plan;
        const struct oci_hooks *hooks = plan->hooks;
        struct child *child = &l->child;
        int r;

        child->plan = plan;
        child->dies_with_us = l->request->dies_with_us;
        child->output = l->request->output;
        child->host[0] = l->result.container.root;
        child->host[1] = l->result.container.dir;
        child->host[2] = l->cgroup;
        child->owned_by_user = l->result.container.status.owner != 0;
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
        if ((r = open_sources(l, err)) < 0 || (limits_disk(plan) && (r = launch_prepare_disk(l, err)) < 0) ||
            (plan->sandbox && soft_is_sampled(plan->sandbox->limits) && (r = launch_prepare_monitor(l, err)) < 0) || (r = make_devices(l, err)) < 0 ||
            (r = namespaces_open(plan->namespaces, &child->joins, err)) < 0 ||
            (r = namespaces_check_own(plan, &child->joins, err)) < 0 || (r = tell_of_tracer(l, err)) < 0 || (r = sync_open(&child->sync, err)) < 0 ||
            (l->usher && (r = sync_ask_pids(child->sync.runtime, err)) < 0))
                return r;
        if (l->request->wait_for_start && (r = gate_open(l->result.container.dir, &child->gate, err)) < 0)
                return r;
        list_kept(l);
        return 0;
}

void launch_drop_sources(struct launch *l) {
        if (l->child.sources)
                mount_sources_close(l->plan, l->child.sources);
        l->child.sources = NULL;
        close_fd(&l->child.nodes);
}

int launch_write_maps(struct launch *l, struct error *err) {
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
            ((r = dialogue_until(&l->dialogue, REPORT_UNMAPPED, err)) < 0 || (r = launch_write_maps(l, err)) < 0))
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

int launch_clone_child(struct launch *l, struct error *err) {
        struct oom_loan oom = { .n = 0 };
        int r = l->plan->sandbox ? 0 : oom_score_lend(l->plan->process, &oom, err);

        if (r < 0)
                return r;
        l->result.pid = process_clone(l->usher ? 0 : namespaces_of_clone(l->plan->namespaces), l->usher ? -1 : l->init_leaf >= 0 ? l->init_leaf : l->cgroup, &l->result.pidfd);
        if (l->result.pid == 0) {
                if (l->usher)
                        usher_main(&l->child, l->cgroup);
                child_main(&l->child);
        }
        r = oom_score_return(&oom, err);
        close_fd(&l->child.sync.child);
        if (!l->plan->sandbox) { /* the bundle's process comes later */
                close_fd(&l->child.gate);
                hook_output_close(&l->child.hook_output);
        }
        close_fd(&l->child.monitor);
        launch_drop_sources(l);
        l->dialogue = (struct dialogue){ .socket = l->child.sync.runtime, .interruption = l->request->interruption, .console_socket = l->request->console_socket,
                                         .container = &l->result.container, .filter = l->plan->filter, .arena = l->arena,
                                         .pid = l->result.pid, .console = -1, .notify = -1 };
        if (r < 0)
                return r;
        if (l->result.pid < 0)
                return child_not_made(l->plan, l->result.pid, err);
        if (l->plan->sandbox)
                launch_spare_init(l);
        if (l->usher && (r = follow_usher(l, err)) < 0)
                return r;
        log_debug("%s: its first process is %d, in new namespaces %#llx", l->plan->id, l->result.pid,
                  (unsigned long long)l->plan->namespaces->create);
        return 0;
}
