#include "cmd/features_list.h"

#include <string.h>

#include "plan/capabilities.h"
#include "plan/filter_arch.h"
#include "plan/mount_options.h"
#include "spec/config.h"
#include "version.h"

#ifdef __aarch64__
#define THIS_MACHINE FILTER_AARCH64
#else
#define THIS_MACHINE FILTER_X86_64
#endif

struct list {
        const char **names;
        size_t n;
};

/* Every word of a schema's list. */
static struct list words(struct arena *arena, const struct spec_enum *words_enum) {
        struct list list = { 0 };

        while (spec_enum_name(words_enum, (int)list.n + 1))
                list.n++;
        list.names = arena_array(arena, const char *, list.n + 1);
        for (size_t i = 0; i < list.n; i++)
                list.names[i] = spec_enum_name(words_enum, (int)i + 1);
        return list;
}

static struct list capability_names(struct arena *arena) {
        struct list list = { arena_array(arena, const char *, CAPABILITY_COUNT + 1), CAPABILITY_COUNT };

        for (unsigned i = 0; i < CAPABILITY_COUNT; i++)
                list.names[i] = capability_name(i);
        return list;
}

static struct list arch_names(struct arena *arena) {
        struct list list = { 0 };
        const struct filter_arch *arches = filter_arches(THIS_MACHINE, &list.n);

        list.names = arena_array(arena, const char *, list.n + 1);
        for (size_t i = 0; i < list.n; i++)
                list.names[i] = spec_enum_name(&oci_seccomp_arch_enum, (int)arches[i].name);
        return list;
}

#define SET(object, member, made) \
        do { \
                struct list m = (made); \
                (object)->member = m.names; \
                (object)->n_##member = m.n; \
        } while (0)

static struct oci_features_enabled *enabled(struct arena *arena, bool value) {
        struct oci_features_enabled *e = arena_new(arena, struct oci_features_enabled);

        *e = (struct oci_features_enabled){ .has = OCI_FEATURES_ENABLED_HAS_ENABLED, .enabled = value };
        return e;
}

static struct oci_features_seccomp *seccomp(struct arena *arena) {
        struct oci_features_seccomp *s = arena_new(arena, struct oci_features_seccomp);

        s->has = OCI_FEATURES_SECCOMP_HAS_ENABLED;
        s->enabled = true;
        SET(s, actions, words(arena, &oci_seccomp_action_enum));
        SET(s, operators, words(arena, &oci_seccomp_operator_enum));
        SET(s, archs, arch_names(arena));
        SET(s, known_flags, words(arena, &oci_seccomp_flag_enum));
        SET(s, supported_flags, words(arena, &oci_seccomp_flag_enum));
        return s;
}

static struct oci_features_cgroup *cgroup(struct arena *arena) {
        struct oci_features_cgroup *c = arena_new(arena, struct oci_features_cgroup);

        *c = (struct oci_features_cgroup){
                .has = OCI_FEATURES_CGROUP_HAS_V1 | OCI_FEATURES_CGROUP_HAS_V2 | OCI_FEATURES_CGROUP_HAS_SYSTEMD |
                        OCI_FEATURES_CGROUP_HAS_SYSTEMD_USER | OCI_FEATURES_CGROUP_HAS_RDMA,
                .v2 = true,
                .rdma = true,
        };
        return c;
}

static struct oci_features_linux *linux_features(struct arena *arena) {
        struct oci_features_linux *l = arena_new(arena, struct oci_features_linux);

        SET(l, namespaces, words(arena, &oci_namespace_type_enum));
        SET(l, capabilities, capability_names(arena));
        l->cgroup = cgroup(arena);
        l->seccomp = seccomp(arena);
        l->apparmor = enabled(arena, true);
        l->selinux = enabled(arena, true);
        l->memory_policy = arena_new(arena, struct oci_features_memory_policy);
        SET(l->memory_policy, modes, words(arena, &oci_memory_policy_mode_enum));
        SET(l->memory_policy, flags, words(arena, &oci_memory_policy_flag_enum));
        l->intel_rdt = arena_new(arena, struct oci_features_intel_rdt);
        *l->intel_rdt = (struct oci_features_intel_rdt){
                .has = OCI_FEATURES_INTEL_RDT_HAS_ENABLED | OCI_FEATURES_INTEL_RDT_HAS_SCHEMATA | OCI_FEATURES_INTEL_RDT_HAS_MONITORING,
                .enabled = true,
                .schemata = true,
                .monitoring = true,
        };
        l->mount_extensions = arena_new(arena, struct oci_features_mount_extensions);
        l->mount_extensions->idmap = enabled(arena, true);
        l->net_devices = enabled(arena, true);
        return l;
}

int features_list(struct arena *arena, struct oci_features **ret, struct error *err) {
        static const char *const hooks[] = { "prestart", "createRuntime", "createContainer", "startContainer", "poststart", "poststop",
                NULL };
        /* A trailing dot stands for every annotation that begins so. An engine may keep them from untrusted authors. */
        static const char *const unsafe[] = { "sage.sandbox.", "run.oci.", "org.systemd.property.", "org.criu.", NULL };
        static const struct string_pair annotations[] = {
                { "sage.runtime.commit", SAGE_COMMIT },
                { "sage.runtime.version", SAGE_VERSION },
        };
        struct oci_features *f = arena_new(arena, struct oci_features);

        (void)err;
        f->oci_version_min = "1.0.0";
        f->oci_version_max = "1.3.0";
        f->hooks = (const char **)(uintptr_t)hooks;
        f->n_hooks = ELEMENTSOF(hooks) - 1;
        f->mount_options = mount_options_names(arena, &f->n_mount_options);
        f->linux = linux_features(arena);
        f->annotations = (struct string_pair *)(uintptr_t)annotations;
        f->n_annotations = ELEMENTSOF(annotations);
        f->potentially_unsafe_config_annotations = (const char **)(uintptr_t)unsafe;
        f->n_potentially_unsafe_config_annotations = ELEMENTSOF(unsafe) - 1;
        *ret = f;
        return 0;
}
