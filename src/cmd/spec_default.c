#include "cmd/spec_default.h"

#include <unistd.h>

#define LIST(...) \
        (const char *[]) { \
                __VA_ARGS__, NULL \
        }
#define COUNT(...) (sizeof((const char *[]){ __VA_ARGS__ }) / sizeof(const char *))
#define OPTIONS(...) .options = LIST(__VA_ARGS__), .n_options = COUNT(__VA_ARGS__)

#define CAPABILITIES "CAP_AUDIT_WRITE", "CAP_KILL", "CAP_NET_BIND_SERVICE"
#define MASKED \
        "/proc/acpi", "/proc/asound", "/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/timer_list", "/proc/timer_stats", \
                "/proc/sched_debug", "/sys/firmware", "/proc/scsi"
#define READ_ONLY "/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"
#define ARGUMENTS "sh"
#define ENVIRONMENT "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "TERM=xterm"

/* In none of the sets: inheritable and ambient, which would outlive a change of user (CVE-2022-24769). */
static const struct oci_capabilities capabilities = {
        .bounding = LIST(CAPABILITIES),
        .n_bounding = COUNT(CAPABILITIES),
        .effective = LIST(CAPABILITIES),
        .n_effective = COUNT(CAPABILITIES),
        .permitted = LIST(CAPABILITIES),
        .n_permitted = COUNT(CAPABILITIES),
};

static const struct oci_rlimit rlimits[] = { { OCI_RLIMIT_TYPE_RLIMIT_NOFILE, 1024, 1024 } };

static const struct oci_user root_user = { .has = OCI_USER_HAS_UID | OCI_USER_HAS_GID };

static const struct oci_process process = {
        .has = OCI_PROCESS_HAS_TERMINAL | OCI_PROCESS_HAS_NO_NEW_PRIVILEGES,
        .terminal = true,
        .user = (struct oci_user *)(uintptr_t)&root_user,
        .args = LIST(ARGUMENTS),
        .n_args = COUNT(ARGUMENTS),
        .env = LIST(ENVIRONMENT),
        .n_env = COUNT(ENVIRONMENT),
        .cwd = "/",
        .capabilities = (struct oci_capabilities *)(uintptr_t)&capabilities,
        .rlimits = (struct oci_rlimit *)(uintptr_t)rlimits,
        .n_rlimits = 1,
        .no_new_privileges = true,
};

static const struct oci_mount mounts[] = {
        { "/proc", "proc", "proc", NULL, 0, NULL, 0, NULL, 0 },
        { "/dev", "tmpfs", "tmpfs", OPTIONS("nosuid", "strictatime", "mode=755", "size=65536k") },
        { "/dev/pts", "devpts", "devpts", OPTIONS("nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620", "gid=5") },
        { "/dev/shm", "tmpfs", "shm", OPTIONS("nosuid", "noexec", "nodev", "mode=1777", "size=65536k") },
        { "/dev/mqueue", "mqueue", "mqueue", OPTIONS("nosuid", "noexec", "nodev") },
        { "/sys", "sysfs", "sysfs", OPTIONS("nosuid", "noexec", "nodev", "ro") },
        { "/sys/fs/cgroup", "cgroup", "cgroup", OPTIONS("nosuid", "noexec", "nodev", "relatime", "ro") },
};

/* An ordinary user has one id to map, so there is no group 5 for devpts, and no rights over the host's network, which sysfs shows. */
static const struct oci_mount rootless_devpts = { "/dev/pts", "devpts", "devpts",
        OPTIONS("nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620") };
static const struct oci_mount rootless_sys = { "/sys", "none", "/sys", OPTIONS("rbind", "nosuid", "noexec", "nodev", "ro") };

static const enum oci_namespace_type namespaces[] = {
        OCI_NAMESPACE_TYPE_PID,
        OCI_NAMESPACE_TYPE_NETWORK,
        OCI_NAMESPACE_TYPE_IPC,
        OCI_NAMESPACE_TYPE_UTS,
        OCI_NAMESPACE_TYPE_MOUNT,
        OCI_NAMESPACE_TYPE_CGROUP,
};

static void add_namespaces(struct arena *arena, bool rootless, struct oci_linux *linux) {
        linux->namespaces = arena_array(arena, struct oci_namespace, ELEMENTSOF(namespaces) + 1);
        for (size_t i = 0; i < ELEMENTSOF(namespaces); i++)
                if (!rootless || namespaces[i] != OCI_NAMESPACE_TYPE_NETWORK)
                        linux->namespaces[linux->n_namespaces++].type = namespaces[i];
        if (rootless)
                linux->namespaces[linux->n_namespaces++].type = OCI_NAMESPACE_TYPE_USER;
}

static void add_mounts(struct arena *arena, bool rootless, struct oci_config *config) {
        config->mounts = arena_array(arena, struct oci_mount, ELEMENTSOF(mounts));
        config->n_mounts = ELEMENTSOF(mounts);
        memcpy(config->mounts, mounts, sizeof mounts);
        for (size_t i = 0; rootless && i < config->n_mounts; i++) {
                if (streq(config->mounts[i].destination, "/dev/pts"))
                        config->mounts[i] = rootless_devpts;
                if (streq(config->mounts[i].destination, "/sys"))
                        config->mounts[i] = rootless_sys;
        }
}

/* The container's root is the user who asked. */
static struct oci_id_mapping *map_of(struct arena *arena, uint32_t id) {
        struct oci_id_mapping *map = arena_new(arena, struct oci_id_mapping);

        *map = (struct oci_id_mapping){ .container_id = 0, .host_id = id, .size = 1 };
        return map;
}

static struct oci_linux *make_linux(struct arena *arena, bool rootless) {
        static const char *const masked[] = { MASKED, NULL }, *const read_only[] = { READ_ONLY, NULL };
        struct oci_linux *linux = arena_new(arena, struct oci_linux);

        add_namespaces(arena, rootless, linux);
        linux->masked_paths = (const char **)(uintptr_t)masked;
        linux->n_masked_paths = ELEMENTSOF(masked) - 1;
        linux->readonly_paths = (const char **)(uintptr_t)read_only;
        linux->n_readonly_paths = ELEMENTSOF(read_only) - 1;
        if (rootless) {
                linux->uid_mappings = map_of(arena, geteuid());
                linux->gid_mappings = map_of(arena, getegid());
                linux->n_uid_mappings = linux->n_gid_mappings = 1;
                return linux;
        }
        linux->resources = arena_new(arena, struct oci_linux_resources);
        linux->resources->devices = arena_new(arena, struct oci_device_rule);
        linux->resources->n_devices = 1;
        *linux->resources->devices = (struct oci_device_rule){ .allow = false, .access = "rwm" };
        return linux;
}

int spec_default(struct arena *arena, bool rootless, struct oci_config **ret, struct error *err) {
        struct oci_config *config = arena_new(arena, struct oci_config);

        (void)err;
        config->oci_version = "1.3.0";
        config->process = arena_new(arena, struct oci_process);
        *config->process = process;
        config->root = arena_new(arena, struct oci_root);
        *config->root = (struct oci_root){ .has = OCI_ROOT_HAS_READONLY, .path = "rootfs", .readonly = true };
        config->hostname = "sage";
        add_mounts(arena, rootless, config);
        config->linux = make_linux(arena, rootless);
        *ret = config;
        return 0;
}
