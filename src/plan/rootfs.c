#define _GNU_SOURCE
#include "plan/rootfs.h"

#include "plan/annotations.h"

#include <sys/mount.h>

static const uint64_t propagations[] = {
        [OCI_ROOTFS_PROPAGATION_SHARED] = MS_SHARED,
        [OCI_ROOTFS_PROPAGATION_SLAVE] = MS_SLAVE,
        [OCI_ROOTFS_PROPAGATION_PRIVATE] = MS_PRIVATE,
        [OCI_ROOTFS_PROPAGATION_UNBINDABLE] = MS_UNBINDABLE,
        [OCI_ROOTFS_PROPAGATION_RSHARED] = MS_SHARED | MS_REC,
        [OCI_ROOTFS_PROPAGATION_RSLAVE] = MS_SLAVE | MS_REC,
        [OCI_ROOTFS_PROPAGATION_RPRIVATE] = MS_PRIVATE | MS_REC,
        [OCI_ROOTFS_PROPAGATION_RUNBINDABLE] = MS_UNBINDABLE | MS_REC,
};

int rootfs_compile(struct compilation *c) {
        const struct oci_config *config = c->request->config;
        struct plan_rootfs *rootfs = arena_new(c->arena, struct plan_rootfs);

        if (!config->root)
                return INVALID(c->err, "root", "expected the container's root file system");
        if (!config->root->path || !*config->root->path)
                return INVALID(c->err, "root.path", "expected a path");
        rootfs->path = config->root->path[0] == '/' ? config->root->path : FIELD(c->arena, "%s/%s", c->request->bundle, config->root->path);
        rootfs->readonly = config->root->readonly;
        if (config->linux->has & OCI_LINUX_HAS_ROOTFS_PROPAGATION)
                rootfs->propagation = propagations[config->linux->rootfs_propagation];
        rootfs->pivot = !c->request->no_pivot;
        rootfs->has |= PLAN_ROOTFS_HAS_PIVOT;
        if (config->linux->mount_label && *config->linux->mount_label) {
                /* It will stand in quotes in the options of each new file system, because of the commas in it. */
                if (strchr(config->linux->mount_label, '"'))
                        return INVALID(c->err, "linux.mountLabel", "a label cannot hold a quotation mark");
                rootfs->mount_label = config->linux->mount_label;
                rootfs->mount_context = annotation_find(c->plan->annotations, c->plan->n_annotations, "run.oci.mount_context_type");
        }
        c->plan->rootfs = rootfs;
        return 0;
}
