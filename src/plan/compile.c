#include "plan/compile.h"

#include "facts/facts.h"
#include "plan/annotations.h"
#include "plan/cgroup.h"
#include "plan/command_policy.h"
#include "plan/compilation.h"
#include "plan/devices.h"
#include "plan/hooks.h"
#include "plan/ids.h"
#include "plan/masks.h"
#include "plan/memory_policy.h"
#include "plan/mounts.h"
#include "plan/namespaces.h"
#include "plan/net_devices.h"
#include "plan/process.h"
#include "plan/rdt.h"
#include "plan/rootfs.h"
#include "plan/sage.h"
#include "plan/sandbox.h"
#include "plan/seccomp.h"
#include "plan/sysctl.h"

#include <linux/sched.h>
#include <sys/personality.h>

unsigned compile_needs(const struct request *request) {
        const struct oci_linux *linux = request->config->linux;

        return FACTS_KERNEL | FACTS_IDENTITY | (request->manager == PLAN_CGROUP_MANAGER_DISABLED ? 0 : FACTS_CGROUP) |
                (linux && linux->intel_rdt ? FACTS_RDT : 0);
}

const char *compile_joined_userns(const struct oci_config *config) {
        const struct oci_linux *linux = config->linux;

        for (size_t i = 0; linux && i < linux->n_namespaces; i++)
                if (linux->namespaces[i].type == OCI_NAMESPACE_TYPE_USER && linux->namespaces[i].path && *linux->namespaces[i].path)
                        return linux->namespaces[i].path;
        return NULL;
}

static int check_facts(struct compilation *c) {
        if (!c->facts->kernel || !c->facts->identity || (!c->facts->cgroup && c->request->manager != PLAN_CGROUP_MANAGER_DISABLED))
                return fail(c->err, CODE_INTERNAL, ENODATA, NULL, "a plan needs what compile_needs() names of the facts");
        return 0;
}

static int compile_personality(struct compilation *c) {
        const struct oci_personality *asked = c->request->config->linux->personality;

        if (!asked)
                return 0;
        if (asked->n_flags) /* config-linux.md: "Currently no flag values are supported." */
                return INVALID(c->err, "linux.personality.flags[0]", "expected no flags, found \"%s\"", asked->flags[0]);
        c->plan->personality = asked->domain == OCI_PERSONALITY_DOMAIN_LINUX32 ? PER_LINUX32 : PER_LINUX;
        c->plan->has |= PLAN_PLAN_HAS_PERSONALITY;
        return 0;
}

/* Few bundles have any; the others do not even touch that file's code. */
static int net_devices_if_any(struct compilation *c) {
        return c->request->config->linux->n_net_devices ? net_devices_compile(c) : 0;
}

static int sage_if_any(struct compilation *c) {
        static const struct sage_sources none;
        const struct oci_config *config = c->request->config;
        struct sage_asked asked;
        int r;

        if (!c->request->sage && !sage_annotated(config))
                return 0;
        if (c->request->asked)
                asked = *c->request->asked;
        else if ((r = sage_compile(c->arena, config, c->request->sage ? c->request->sage : &none, &asked, c->err)) < 0)
                return r;
        c->plan->sage = (struct sage_request *)asked.request;
        c->plan->sage_fingerprint = asked.fingerprint;
        c->sage_field = asked.field;
        return 0;
}

static int sandbox_if_any(struct compilation *c) {
        return c->plan->sage ? sandbox_compile(c) : 0;
}

static int mounts_of_either(struct compilation *c) {
        return c->plan->sandbox ? sandbox_mounts(c) : mounts_compile(c);
}

static int command_policy_if_any(struct compilation *c) {
        return c->plan->sage && c->plan->sage->process ? command_policy_compile(c) : 0;
}

static int refuse_sage(struct compilation *c) {
        return c->plan->sage ? sandbox_refuse_unbuilt(c) : 0;
}

static int rarities_if_any(struct compilation *c) {
        const struct oci_linux *linux = c->request->config->linux;
        int r = linux->memory_policy ? memory_policy_compile(c) : 0;

        return r < 0 || !linux->intel_rdt ? r : rdt_compile(c);
}

/* A process in the container whose id on the host may write this program's file could replace it through /proc/PID/exe and wait for the
 * next launch (CVE-2019-5736). Host root always may. Any other owner is not known here, so only a container that maps nobody but
 * ids other than the runtime's own, in a runtime that is root, is safe without protection. */
static bool must_protect_binary(const struct compilation *c) {
        const struct plan_ids *ids = c->plan->ids;
        const struct facts_identity *identity = c->facts->identity;

        if (ids->n_uid_map == 0 || ids->n_gid_map == 0)
                return true;
        return ids_map_outside(ids->uid_map, ids->n_uid_map, 0) || ids_map_outside(ids->uid_map, ids->n_uid_map, identity->euid);
}

static int finish(struct compilation *c) {
        struct plan_plan *plan = c->plan;

        plan->keyring = !c->request->no_new_keyring;
        plan->protect_binary = must_protect_binary(c);
        plan->has |= PLAN_PLAN_HAS_KEYRING | PLAN_PLAN_HAS_PROTECT_BINARY;
        plan->warnings = c->warnings.list;
        plan->n_warnings = c->warnings.n;
        return 0;
}

/* In this order: namespaces and ids first, the others look at them; the root before the mounts; the devices before their rules. */
static int (*const parts[])(struct compilation *) = {
        check_facts,
        annotations_compile,
        sage_if_any,
        sandbox_if_any,
        namespaces_compile,
        ids_compile,
        rootfs_compile,
        mounts_of_either,
        devices_compile,
        masks_compile,
        sysctl_compile,
        net_devices_if_any,
        process_compile,
        command_policy_if_any,
        compile_personality,
        rarities_if_any,
        cgroup_compile,
        seccomp_compile,
        hooks_compile,
        refuse_sage,
        finish,
};

int compile(
        struct arena *arena, const struct request *request, const struct facts_facts *facts, struct plan_plan **ret, struct error *err) {
        struct plan_plan *plan = arena_new(arena, struct plan_plan);
        struct compilation c = { .arena = arena, .request = request, .facts = facts, .err = err, .plan = plan };

        plan->schema = PLAN_SCHEMA;
        plan->id = request->id ?: "<id>";
        plan->bundle = request->bundle;
        plan->oci_version = request->config->oci_version;
        for (size_t i = 0; i < ELEMENTSOF(parts); i++) {
                int r = parts[i](&c);

                if (r < 0)
                        return r;
        }
        *ret = plan;
        return 0;
}
