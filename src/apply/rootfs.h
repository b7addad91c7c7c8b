/* The container's root: a recursive bind of root.path on itself in the child's own mount namespace, which becomes "/" in the end.
 * All of it runs in the child, between rootfs_prepare and rootfs_enter the host's file system is still what absolute paths mean. */
#pragma once

#include "apply/namespaces.h"
#include "base/error.h"
#include "spec/plan.h"

/* Cuts the mount namespace off from the host's as rootfs.propagation asks and attaches the root. Also clears the umask, so that what is
 * made in the container has exactly the mode that is meant; credentials_set() sets the payload's.
 * ret_root: O_PATH descriptor of the new root, close-on-exec, owned by the caller. */
int rootfs_prepare(const struct plan_plan *plan, int *ret_root, struct error *err);

/* Makes ROOT "/" and lets go of the host's tree. The process's cwd is made with its parents if it is missing. Read-only mounts that had to
 * stay writable while the container was furnished, and the root itself, become read-only then. The working directory is "/" afterwards. */
int rootfs_enter(const struct plan_plan *plan, int root, struct error *err);

/* After rootfs_enter(), where the mount namespace is to be joined: all was built in one that only this process is in, without a word to the
 * other. Joins it and takes "/" along, with everything that is mounted below it, except unbindable mounts (open_tree(2)), to be the root of
 * everybody in there; the old one is detached. The working directory is "/" afterwards. What fails before pivot_root(2) leaves it as it was, but
 * for the propagation: its mounts are slaves. */
int rootfs_move(const struct plan_plan *plan, struct namespace_joins *joins, struct error *err);

/* Changes to CWD and checks that it lies below "/". -EACCES where this identity may not look; the
 * caller may try again with the payload's. */
int cwd_enter(const char *cwd, struct error *err);
