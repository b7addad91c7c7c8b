/* The network policy: what goes together in it, and whether there is a network namespace that it could be about. */
#include "plan/sage_draft.h"

#include "broker/policy.h"

/* The broker's own judgement, with the place of the member that it names. */
static int check_policy(struct sage_draft *d, const struct sage_network *network) {
        struct policy policy;
        struct error said;

        if (policy_compile(d->arena, network, &policy, &said) == 0)
                return 0;
        return SAGE_REFUSE(d, SAGE_NETWORK, said.where, -1, "%s", said.text);
}

/* Whoever made or furnished a network namespace may have left a way out of it, beside the broker. */
static int check_namespace(struct sage_draft *d) {
        const struct oci_linux *linux = d->config->linux;
        const char *mode = sage_field(d, d->layer, SAGE_NETWORK, "mode");

        if (linux && linux->n_net_devices)
                return fail(d->err, CODE_NETWORK_POLICY_INVALID, EINVAL, "linux.netDevices",
                        "%s needs a network namespace without devices: they would lead past it", mode);
        for (size_t i = 0; linux && i < linux->n_namespaces; i++) {
                const struct oci_namespace *namespace = &linux->namespaces[i];

                if (namespace->type != OCI_NAMESPACE_TYPE_NETWORK)
                        continue;
                if (namespace->path && *namespace->path)
                        return fail(d->err, CODE_NETWORK_POLICY_INVALID, EINVAL, arena_printf(d->arena, "linux.namespaces[%zu].path", i),
                                "%s needs a network namespace that is made for this container (engines: --network none)", mode);
                return 0;
        }
        if (d->layer->request->has & SAGE_REQUEST_HAS_PROFILE) /* a strict sandbox has one, whatever the bundle says */
                return 0;
        return fail(d->err, CODE_NETWORK_POLICY_INVALID, EINVAL, "linux.namespaces",
                "%s needs a network namespace of the container's own (engines: --network none)", mode);
}

int sage_network(struct sage_draft *d) {
        const struct sage_network *network = d->layer->request->network;
        int r = network ? check_policy(d, network) : 0;

        return r < 0 || !network || network->mode == SAGE_NETWORK_MODE_UNRESTRICTED ? r : check_namespace(d);
}
