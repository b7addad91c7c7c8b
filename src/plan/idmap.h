#pragma once

#include "plan/compilation.h"

/* The mount asks for an id map: by an option (OPTION, or NULL) or by maps of its own. */
static inline bool idmap_asked(const struct oci_mount *asked, const char *option) {
        return option || asked->n_uid_mappings || asked->n_gid_mappings;
}

/* Id-mapped bind mounts, MOUNT_ATTR_IDMAP of mount_setattr(2): mounts[].uidMappings and gidMappings, the option idmap or ridmap for the
 * maps of the container's user namespace, or crun's idmap=uids=FROM-TO-SIZE#…;gids=…, in which an @ before FROM says that TO is an id of the container. A map left out of the plan means the container's. */
int idmap_compile(struct compilation *c, const struct oci_mount *asked, const char *option, struct plan_mount *mount);
