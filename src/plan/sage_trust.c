/* Whose annotations these are. Engines of Kubernetes pass on what the author of a pod wrote, and say so by annotations of their own, which
 * an author cannot take away: the engine writes them last. */
#include "plan/sage_draft.h"

#include "plan/annotations.h"

/* What an author of a pod may set at most; the host policy may allow less. A name that ends with '.' stands for all that begin so. */
static const char *const most[] = {
        "sage.sandbox.resources",
        "sage.sandbox.resources.",
        "sage.sandbox.network",
        "sage.sandbox.network.",
        "sage.sandbox.process",
        "sage.sandbox.process.",
        "sage.sandbox.policy",
};

bool sage_untrusted(const struct oci_config *config) {
        return annotation_begins(config->annotations, config->n_annotations, "io.kubernetes.");
}

/* A container that only holds a pod's namespaces. Each engine has its own word for it; an author who could add another engine's must not
 * get out of a policy that way, so one that says otherwise counts for more. */
bool sage_pause(const struct oci_config *config) {
        static const struct {
                const char *key, *value;
        } engines[] = {
                { "io.kubernetes.cri.container-type", "sandbox" },  /* containerd, pkg/cri/annotations */
                { "io.kubernetes.cri-o.ContainerType", "sandbox" }, /* CRI-O and podman, pkg/annotations */
                { "io.kubernetes.docker.type", "podsandbox" },      /* cri-dockerd, a label that becomes one */
        };
        bool pause = false;

        for (size_t i = 0; i < ELEMENTSOF(engines); i++) {
                const char *value = annotation_find(config->annotations, config->n_annotations, engines[i].key);

                if (value && !streq(value, engines[i].value))
                        return false;
                pause |= value != NULL;
        }
        return pause;
}

static bool matches(const char *entry, const char *key) {
        const char *rest = str_after(key, entry);
        size_t n = strlen(entry);

        return rest && (*rest == '\0' || (n && entry[n - 1] == '.'));
}

static bool allowed(const char *const *entries, size_t n, const char *key) {
        for (size_t i = 0; i < n; i++)
                if (matches(entries[i], key))
                        return true;
        return false;
}

int sage_trust_annotation(struct sage_draft *d, const char *key) {
        const struct sage_host_policy *host = d->sources->host;
        const char *where = sage_annotation_field(d->arena, key);

        if (!d->untrusted)
                return 0;
        if (!allowed(most, ELEMENTSOF(most), key))
                return fail(d->err, CODE_CONFIG_INVALID, EPERM, where,
                        "an io.kubernetes. annotation says that the author of a pod wrote this: it is for administrators, in a policy");
        if (host && host->untrusted_annotations &&
                !allowed((const char *const *)host->untrusted_annotations, host->n_untrusted_annotations, key))
                return fail(d->err, CODE_CONFIG_INVALID, EPERM, where,
                        "untrusted_annotations of %s does not let the author of a pod set this", d->sources->host_path);
        return 0;
}

/* From an annotation, not from a policy or a default. */
static bool said(const struct sage_draft *d, enum sage_group group, const char *member) {
        return sage_origin(d->layer, group, member) >= SAGE_OBJECT;
}

int sage_trust_request(struct sage_draft *d) {
        static const char text[] = "only a policy may say this, not the author of a pod";
        const struct sage_request *request = d->layer->request;
        const struct sage_network *network = request->network;

        if (!d->untrusted)
                return 0;
        if (request->resources && said(d, SAGE_RESOURCES, "require_hard_limits") && !request->resources->require_hard_limits)
                return SAGE_REFUSE(d, SAGE_RESOURCES, "require_hard_limits", -1, text);
        if (!network)
                return 0;
        if (said(d, SAGE_NETWORK, "mode") && network->mode == SAGE_NETWORK_MODE_UNRESTRICTED)
                return SAGE_REFUSE(d, SAGE_NETWORK, "mode", -1, text);
        if (said(d, SAGE_NETWORK, "deny_private_networks") && !network->deny_private_networks)
                return SAGE_REFUSE(d, SAGE_NETWORK, "deny_private_networks", -1, text);
        if (said(d, SAGE_NETWORK, "allow_ech") && network->allow_ech)
                return SAGE_REFUSE(d, SAGE_NETWORK, "allow_ech", -1, text);
        if (said(d, SAGE_NETWORK, "proxy_url") && !(d->sources->host && d->sources->host->upstream_proxies))
                return SAGE_REFUSE(d, SAGE_NETWORK, "proxy_url", -1,
                        "the author of a pod may only name a proxy that upstream_proxies of the host policy has");
        return 0;
}
