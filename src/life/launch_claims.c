#define _GNU_SOURCE
#include "life/launch_steps.h"

#include <errno.h>
#include <sched.h>
#include <unistd.h>

#include "apply/cgroup.h"
#include "apply/rdt.h"
#include "base/log.h"
#include "base/process.h"
#include "base/time.h"
#include "facts/facts.h"
#include "life/cgroup_claim.h"

enum { STATUS_SCHEMA = 1 };

int launch_claim_status(struct launch *l, struct error *err) {
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
                .sage_fingerprint = plan->sage_fingerprint,
                .limits = plan->sandbox ? plan->sandbox->limits : NULL,
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
int launch_claim_cgroup(struct launch *l, struct error *err) {
        const struct plan_cgroup *cgroup = l->plan->cgroup;
        struct container *c = &l->result.container;
        struct status_cgroup_claim *claim;
        int r;

        if (cgroup->manager == PLAN_CGROUP_MANAGER_DISABLED)
                return container_save(c, err);
        claim = arena_new(l->arena, struct status_cgroup_claim);
        claim->path = arena_printf(l->arena, "%s%s", facts_cgroup_mount(), cgroup->path);
        if ((r = cgroup_ours(claim->path, &claim->ours, err)) < 0 || (l->plan->sandbox && (r = launch_check_cgroup(l, claim, err)) < 0) ||
            (claim->ours == 0 && (r = cgroup_claim_take_over(l->arena, l->request->root, c->id, claim, err)) < 0))
                return r;
        c->status.cgroup = claim;
        if ((r = container_save(c, err)) < 0)
                return r;
        log_debug("%s: making the cgroup %s", c->id, claim->path);
        r = cgroup_create(claim->path, cgroup, &claim->ours, &l->cgroup, err);
        return r == 0 && l->plan->sandbox ? launch_make_leaves(l, err) : r;
}

/* The claim on what is made of it is on disk before that is made. */
int launch_claim_rdt(struct launch *l, struct error *err) {
        struct container *c = &l->result.container;
        int r;

        if (!l->plan->rdt)
                return 0;
        if ((r = rdt_examine(l->arena, l->plan->rdt, l->plan->id, &c->status.rdt, err)) < 0 || (r = container_save(c, err)) < 0)
                return r;
        return rdt_make(l->plan->rdt, c->status.rdt, err);
}

int launch_share_rdt(struct launch *l, struct error *err) {
        struct container *c = &l->result.container;

        if (!c->status.rdt || !c->status.rdt->ours || !c->status.rdt->shared)
                return 0;
        c->status.rdt->ours = false;
        return container_save(c, err);
}

int launch_claim_init(struct launch *l, struct error *err) {
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
