#include "plan/sandbox_parts.h"

/* All but the time namespace; the network one last, because it is the one that unrestricted networking leaves out. */
static struct oci_namespace namespaces[] = {
        { .type = OCI_NAMESPACE_TYPE_USER },
        { .type = OCI_NAMESPACE_TYPE_MOUNT },
        { .type = OCI_NAMESPACE_TYPE_PID },
        { .type = OCI_NAMESPACE_TYPE_IPC },
        { .type = OCI_NAMESPACE_TYPE_UTS },
        { .type = OCI_NAMESPACE_TYPE_CGROUP },
        { .type = OCI_NAMESPACE_TYPE_NETWORK },
};

/* user_namespaces(7): nobody makes another user namespace in this one, whatever a filter lets through. The two for inotify(7) are counted
 * for each user of each namespace: without them one sandbox could use up what its user has for all of them. */
static struct string_pair settings[] = {
        { "user.max_inotify_instances", "64" },
        { "user.max_inotify_watches", "65536" },
        { "user.max_user_namespaces", "0" },
};

/* What engines mask by default (containers/common, moby): files of /proc and /sys that tell of the host, or act on it. */
static const char *masked[] = {
        "/proc/acpi",
        "/proc/asound",
        "/proc/interrupts",
        "/proc/kcore",
        "/proc/keys",
        "/proc/latency_stats",
        "/proc/sched_debug",
        "/proc/scsi",
        "/proc/timer_list",
        "/proc/timer_stats",
        NULL,
};

static struct oci_id_mapping *itself(struct compilation *c, uint32_t id) {
        struct oci_id_mapping *map = arena_new(c->arena, struct oci_id_mapping);

        *map = (struct oci_id_mapping){ .container_id = id, .host_id = id, .size = 1 };
        return map;
}

static struct oci_linux *rewrite_linux(struct compilation *c, const struct oci_linux *said) {
        const struct sage_network *network = c->plan->sage->network;
        const bool shared = network && network->mode == SAGE_NETWORK_MODE_UNRESTRICTED;
        struct oci_linux *linux = arena_new(c->arena, struct oci_linux);

        if (said)
                *linux = *said;
        linux->namespaces = namespaces;
        linux->n_namespaces = ELEMENTSOF(namespaces) - shared;
        linux->uid_mappings = itself(c, c->plan->sandbox->uid);
        linux->gid_mappings = itself(c, c->plan->sandbox->gid);
        linux->n_uid_mappings = linux->n_gid_mappings = 1;
        linux->sysctl = settings;
        linux->n_sysctl = ELEMENTSOF(settings);
        linux->masked_paths = masked;
        linux->n_masked_paths = ELEMENTSOF(masked) - 1;
        return linux;
}

/* Without one, the sandbox waits for exec, whose commands have this one's identity. One that names no program is none at all. */
static struct oci_process *rewrite_process(struct compilation *c, const struct oci_process *said) {
        struct oci_process *process = arena_new(c->arena, struct oci_process);
        struct oci_user *user = arena_new(c->arena, struct oci_user);

        *process = said ? *said : (struct oci_process){ .cwd = "/" };
        if (said && said->user)
                *user = *said->user;
        user->uid = c->plan->sandbox->uid;
        user->gid = c->plan->sandbox->gid;
        process->user = user;
        process->capabilities = NULL;
        process->no_new_privileges = true;
        return process;
}

void sandbox_rewrite(struct compilation *c) {
        struct oci_config *config = arena_new(c->arena, struct oci_config);
        struct request *request = arena_new(c->arena, struct request);
        struct oci_root *root = arena_new(c->arena, struct oci_root);

        *request = *c->request;
        *config = *c->request->config;
        if (config->root) {
                *root = *config->root;
                root->readonly = true;
                config->root = root;
        }
        if (!config->hostname || !*config->hostname) /* else it would have the host's */
                config->hostname = "sandbox";
        config->linux = rewrite_linux(c, config->linux);
        config->process = rewrite_process(c, config->process);
        request->config = config;
        c->request = request;
}
