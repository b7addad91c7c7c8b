#define _GNU_SOURCE
#include "facts/facts.h"

#include <errno.h>
#include <fcntl.h>

#include "base/file.h"
#include "facts/probe.h"

#define RECORD_MAX (1u << 20)

static int need_kernel(struct host *host, struct error *err) {
        return probe_kernel(host->arena, &host->facts.kernel, err);
}

static int need_features(struct host *host, struct error *err) {
        return probe_features(host->arena, &host->facts.features, err);
}

static int need_identity(struct host *host, struct error *err) {
        return probe_identity(host->arena, &host->facts.identity, err);
}

static int need_subids(struct host *host, struct error *err) {
        return probe_subids(host->arena, host->facts.identity, &host->facts.subids, err);
}

static int need_cgroup(struct host *host, struct error *err) {
        return probe_cgroup(host->arena, host->facts.identity, &host->facts.cgroup, err);
}

static int need_controllers(struct host *host, struct error *err) {
        return probe_controllers(host->arena, host->facts.cgroup, err);
}

static int need_delegation(struct host *host, struct error *err) {
        return probe_delegation(host->arena, &host->facts, &host->facts.delegation, err);
}

static int need_userns(struct host *host, struct error *err) {
        return probe_userns(host->arena, host->facts.identity, &host->facts.userns, err);
}

static int need_trial(struct host *host, struct error *err) {
        return probe_trial(host->arena, &host->facts.trial, err);
}

static int need_proc(struct host *host, struct error *err) {
        return probe_proc(host->arena, &host->facts.proc, err);
}

static int need_quota(struct host *host, struct error *err) {
        return probe_quotas(host->arena, host->quota_mount, &host->facts.quotas, &host->facts.n_quotas, err);
}

static int need_policy(struct host *host, struct error *err) {
        const char *path = host->policy_path ? host->policy_path : facts_policy_path();

        return probe_policy(host->arena, path, &host->facts.policy, err);
}

static int need_priorities(struct host *host, struct error *err) {
        return probe_priorities(host->arena, &host->facts.priorities, err);
}

static int need_numa(struct host *host, struct error *err) {
        return probe_numa(host->arena, &host->facts.numa, err);
}

static int need_rdt(struct host *host, struct error *err) {
        return probe_rdt(host->arena, &host->facts.rdt, err);
}

static int need_project(struct host *host, struct error *err) {
        if (!host->workspace || !host->quota_mount)
                return 0;
        return probe_project(host->arena, host->workspace, host->quota_mount, &host->facts.project, err);
}

static int need_cgroup_root(struct host *host, struct error *err) {
        return host->cgroup_root ? probe_cgroup_root(host->arena, host->cgroup_root, &host->facts.cgroup_root, err) : 0;
}

/* In an order in which what a part builds on comes before it. */
static const struct part {
        unsigned bit, builds_on;
        const char *name; /* member of facts.json that says the part is there */
        int (*probe)(struct host *host, struct error *err);
} parts[] = {
        { FACTS_KERNEL, 0, "kernel", need_kernel },
        { FACTS_IDENTITY, 0, "identity", need_identity },
        { FACTS_CGROUP, FACTS_IDENTITY, "cgroup", need_cgroup },
        { FACTS_CONTROLLERS, FACTS_CGROUP, "cgroup.controllers", need_controllers },
        { FACTS_DELEGATION, FACTS_CONTROLLERS | FACTS_CGROUP | FACTS_IDENTITY | FACTS_KERNEL, "delegation", need_delegation },
        { FACTS_USERNS, FACTS_IDENTITY, "userns", need_userns },
        { FACTS_SUBIDS, FACTS_IDENTITY, "subids", need_subids },
        { FACTS_FEATURES, 0, "features", need_features },
        { FACTS_PROC, 0, "proc", need_proc },
        { FACTS_QUOTA, 0, "quotas", need_quota },
        { FACTS_POLICY, 0, "policy", need_policy },
        { FACTS_TRIAL, 0, "trial", need_trial },
        { FACTS_PRIORITIES, 0, "priorities", need_priorities },
        { FACTS_NUMA, 0, "numa", need_numa },
        { FACTS_RDT, 0, "rdt", need_rdt },
        { FACTS_PROJECT, 0, "project", need_project },
        { FACTS_CGROUP_ROOT, 0, "cgroupRoot", need_cgroup_root },
};

static unsigned known(const struct facts_facts *facts) {
        const struct {
                unsigned bit;
                const void *value;
        } there[] = {
                { FACTS_KERNEL, facts->kernel },
                { FACTS_IDENTITY, facts->identity },
                { FACTS_CGROUP, facts->cgroup },
                { FACTS_CONTROLLERS, facts->cgroup ? facts->cgroup->controllers : NULL },
                { FACTS_DELEGATION, facts->delegation },
                { FACTS_USERNS, facts->userns },
                { FACTS_SUBIDS, facts->subids },
                { FACTS_FEATURES, facts->features },
                { FACTS_PROC, facts->proc },
                { FACTS_QUOTA, facts->quotas },
                { FACTS_POLICY, facts->policy },
                { FACTS_TRIAL, facts->trial },
                { FACTS_PRIORITIES, facts->priorities },
                { FACTS_NUMA, facts->numa },
                { FACTS_RDT, facts->rdt },
                { FACTS_PROJECT, facts->project },
                { FACTS_CGROUP_ROOT, facts->cgroup_root },
        };
        unsigned bits = 0;

        for (size_t i = 0; i < ELEMENTSOF(there); i++)
                bits |= there[i].value ? there[i].bit : 0;
        return bits;
}

int facts_need(struct host *host, unsigned wanted, struct error *err) {
        unsigned have = known(&host->facts);

        for (size_t i = ELEMENTSOF(parts); i-- > 0;)
                if (!host->recorded && (wanted & ~have & parts[i].bit))
                        wanted |= parts[i].builds_on;
        for (size_t i = 0; i < ELEMENTSOF(parts); i++) {
                int r;

                if (!(wanted & ~have & parts[i].bit))
                        continue;
                if (host->recorded)
                        return fail(err, CODE_CONFIG_INVALID, ENODATA, parts[i].name,
                                "this part is needed, and the recorded host does not have it");
                r = parts[i].probe(host, err);
                if (r < 0)
                        return r;
        }
        return 0;
}

int facts_load(struct host *host, const char *path, struct error *err) {
        _cleanup_str_ struct str text = { 0 };
        struct facts_facts facts;
        int r = file_read(AT_FDCWD, path, RECORD_MAX, &text);

        if (r < 0)
                return fail_errno(err, CODE_NOT_FOUND, -r, path, "cannot read the recorded host");
        r = spec_decode(host->arena, &facts_facts_type, path, text.text, text.size, &facts, err);
        if (r < 0)
                return r;
        host->facts = facts;
        host->recorded = true;
        return 0;
}

int facts_print(const struct facts_facts *facts, struct str *out, struct error *err) {
        return spec_encode(&facts_facts_type, facts, out, SPEC_PRETTY, err);
}
