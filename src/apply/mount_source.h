/* Detached trees: what a bind mount is before it has a place. */
#pragma once

#include "base/error.h"
#include "spec/plan.h"

/* MOUNT_ATTR_* for a tree: SET and CLEAR, recursively or not, and a propagation type (MS_SHARED …, MS_REC ignored; 0: unchanged). */
struct tree_change {
        uint64_t set, clear, propagation;
        bool recursive;
};
int tree_change(int tree, const struct tree_change *change); /* 0 or a negative errno */

/* The directory PATH that was looked at, ONLY, or none: whoever may rename what leads to it could put another in its place, or a symlink, at any
 * moment until this one look; from here on there is a descriptor of it, O_PATH. CODE_WORKSPACE_INVALID with FIELD. */
int mount_source_open_only(const char *path, const struct plan_only *only, const char *field, int *ret_fd, struct error *err);

/* The tree for a bind of M, with all attributes and its propagation set. shared: this mount namespace may still pass mounts on, so that a
 * bind that says nothing about it has to be made private. */
int mount_source_open(const struct plan_mount *m, const struct plan_ids *ids, bool shared, int *ret_tree, struct error *err);

/* PATH of the host, read-only, nothing in it can be executed or is a device: for the views of the host that stand in for a file system
 * which may not be mounted. */
int mount_source_view(const char *field, const char *path, bool recursive, int *ret_tree, struct error *err);

/* The tree of the container's own cgroup, read-only. */
int mount_source_cgroup(const struct plan_plan *plan, const char *field, int *ret_tree, struct error *err);
