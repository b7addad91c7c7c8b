/* What config.json may say beside the annotations of a strict sandbox. */
#include "plan/sandbox_parts.h"

#include "plan/annotations.h"

static const struct oci_linux no_linux;
static const struct oci_process no_process;

static bool mounts(const struct oci_config *config) {
        return config->n_mounts;
}

static bool devices(const struct oci_config *config) {
        return config->linux && config->linux->n_devices;
}

static bool device_rules(const struct oci_config *config) {
        return config->linux && config->linux->resources && config->linux->resources->n_devices;
}

static bool sysctls(const struct oci_config *config) {
        return config->linux && config->linux->n_sysctl;
}

static bool masked(const struct oci_config *config) {
        return config->linux && config->linux->n_masked_paths;
}

static bool readonly(const struct oci_config *config) {
        return config->linux && config->linux->n_readonly_paths;
}

static bool propagation(const struct oci_config *config) {
        return config->linux && config->linux->has & OCI_LINUX_HAS_ROOTFS_PROPAGATION &&
                config->linux->rootfs_propagation != OCI_ROOTFS_PROPAGATION_PRIVATE &&
                config->linux->rootfs_propagation != OCI_ROOTFS_PROPAGATION_RPRIVATE;
}

static bool capabilities(const struct oci_config *config) {
        const struct oci_capabilities *asked = config->process ? config->process->capabilities : NULL;

        return asked && asked->n_bounding + asked->n_effective + asked->n_inheritable + asked->n_permitted + asked->n_ambient;
}

static bool groups(const struct oci_config *config) {
        return config->process && config->process->user && config->process->user->n_additional_gids;
}

static bool kept_groups(const struct oci_config *config) {
        return annotation_true(config->annotations, config->n_annotations, "run.oci.keep_original_groups");
}

static bool delegated(const struct oci_config *config) {
        return annotation_find(config->annotations, config->n_annotations, "run.oci.delegate-cgroup");
}

static const struct {
        const char *field;
        bool (*says)(const struct oci_config *config);
        const char *instead;
} not_its_own[] = {
        { "mounts", mounts, "its file system is its own: use read_paths and write_paths" },
        { "linux.devices", devices, "its devices are its own" },
        { "linux.resources.devices", device_rules, "its devices are its own" },
        { "linux.sysctl", sysctls, "its settings are its own" },
        { "linux.maskedPaths", masked, "what is masked is its own affair" },
        { "linux.readonlyPaths", readonly, "all but the workspace, write_paths, /tmp and /dev/shm is read-only" },
        { "linux.rootfsPropagation", propagation, "its mounts are private" },
        { "process.capabilities", capabilities, "its commands have none" },
        { "process.user.additionalGids", groups, "its commands are in no other group" },
        { "annotations[\"run.oci.keep_original_groups\"]", kept_groups, "its commands are in no other group" },
        { "annotations[\"run.oci.delegate-cgroup\"]", delegated, "its cgroups are its own" },
};

static int check_namespaces(struct compilation *c, const struct oci_linux *linux) {
        for (size_t i = 0; i < linux->n_namespaces; i++) {
                const struct oci_namespace *namespace = &linux->namespaces[i];

                if (namespace->path && *namespace->path)
                        return INVALID(c->err, FIELD(c->arena, "linux.namespaces[%zu].path", i),
                                "a strict sandbox joins no namespace: all of its are its own");
                if (namespace->type == OCI_NAMESPACE_TYPE_TIME)
                        return INVALID(c->err, FIELD(c->arena, "linux.namespaces[%zu].type", i), "a strict sandbox has the host's clocks");
        }
        return 0;
}

static bool is_map_of(const struct oci_id_mapping *map, size_t n, uint32_t id) {
        return n == 0 || (n == 1 && map->container_id == id && map->host_id == id && map->size == 1);
}

/* One id, which is itself: who else could be in there? */
static int check_ids(struct compilation *c, const struct oci_linux *linux, const struct oci_user *user) {
        uint32_t uid = c->plan->sandbox->uid, gid = c->plan->sandbox->gid;

        if (!is_map_of(linux->uid_mappings, linux->n_uid_mappings, uid))
                return INVALID(c->err, "linux.uidMappings", "a strict sandbox maps uid %u to itself and no other", uid);
        if (!is_map_of(linux->gid_mappings, linux->n_gid_mappings, gid))
                return INVALID(c->err, "linux.gidMappings", "a strict sandbox maps gid %u to itself and no other", gid);
        if (user && user->uid != uid)
                return INVALID(
                        c->err, "process.user.uid", "the sandbox is uid %u's, and this is %u: leave process.user out", uid, user->uid);
        if (user && user->gid != gid)
                return INVALID(
                        c->err, "process.user.gid", "the sandbox is gid %u's, and this is %u: leave process.user out", gid, user->gid);
        return 0;
}

int sandbox_check_bundle(struct compilation *c) {
        const struct oci_config *config = c->request->config;
        const struct oci_linux *linux = config->linux ?: &no_linux;
        const struct oci_process *process = config->process ?: &no_process;
        int r;

        for (size_t i = 0; i < ELEMENTSOF(not_its_own); i++)
                if (not_its_own[i].says(config))
                        return INVALID(c->err, not_its_own[i].field, "a strict sandbox takes nothing here: %s", not_its_own[i].instead);
        if (c->request->no_pivot)
                return INVALID(c->err, "--no-pivot", "a strict sandbox leaves nothing of the host's tree mounted");
        r = check_namespaces(c, linux);
        return r < 0 ? r : check_ids(c, linux, process->user);
}
