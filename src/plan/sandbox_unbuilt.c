/* What sage.* may ask for and nothing enforces yet. Whoever builds a part, with its tests, takes its row out. */
#include "plan/sandbox.h"

static bool strict(const struct plan_plan *plan) {
        return plan->sandbox;
}

static bool network_with_a_way_out(const struct plan_plan *plan) {
        return plan->sage->network && plan->sage->network->mode != SAGE_NETWORK_MODE_NONE;
}

static bool read_only_alone(const struct plan_plan *plan) {
        return !strict(plan) && plan->sage->process && plan->sage->process->read_only;
}

static bool disk_alone(const struct plan_plan *plan) {
        return !strict(plan) && plan->sage->resources && plan->sage->resources->has & SAGE_RESOURCES_HAS_DISK_MB;
}

static bool limits_alone(const struct plan_plan *plan) {
        return !strict(plan) && plan->sage->resources;
}

static bool filesystem_alone(const struct plan_plan *plan) {
        return !strict(plan) && plan->sage->filesystem;
}

static bool host_alone(const struct plan_plan *plan) {
        return !strict(plan) && plan->sage->host;
}

static const struct {
        const char *what; /* "… is not supported yet" */
        bool (*asked)(const struct plan_plan *plan);
} unbuilt[] = {
        { "the egress broker for the network of a sandbox", network_with_a_way_out },
        { "process.read_only without sage.sandbox.profile", read_only_alone },
        { "disk_mb without sage.sandbox.profile", disk_alone },
        { "resources without sage.sandbox.profile", limits_alone },
        { "a file system without sage.sandbox.profile", filesystem_alone },
        { "host settings without sage.sandbox.profile", host_alone },
};

int sandbox_refuse_unbuilt(struct compilation *c) {
        if (!c->plan->sage)
                return 0;
        for (size_t i = 0; i < ELEMENTSOF(unbuilt); i++)
                if (unbuilt[i].asked(c->plan))
                        return UNSUPPORTED(c->err, c->sage_field,
                                "what the sage.* annotations and policies ask for is right, but %s is not supported yet (request %s)",
                                unbuilt[i].what, c->plan->sage_fingerprint);
        return 0;
}
