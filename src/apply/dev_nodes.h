/* Device nodes for a container in a user namespace, where mknod(2) of devices is refused to everybody.
 *
 * Nor would it help: a node opens only through a mount and a superblock that were not made in a user namespace (kernel: may_open_dev(),
 * SB_I_NODEV). So the runtime, which has CAP_MKNOD on the host, makes them with the mode and the owner that are asked for in a tmpfs that
 * no place on the host ever shows, and the child binds each to where it belongs. A runtime without that right binds the host's own nodes. */
#pragma once

#include "base/error.h"
#include "spec/plan.h"

/* In the parent, where plan.makeDevices: a detached tmpfs with the plan's devices but FIFOs in it, called 0, 1, 2 ... by their place in the
 * plan. The container's root owns what it may chmod there, and it is the container's alone. */
int dev_nodes_make(const struct plan_plan *plan, int *ret_tree, struct error *err);

/* In the child, in its mount namespace and before dev_populate(): fills TREES, one for each device of the plan (-1 for FIFOs), with what
 * that binds. TREE is put on top of ROOT for that moment, because before Linux 6.15 nothing can be cloned out of a detached tree. */
int dev_nodes_take(const struct plan_plan *plan, int root, int tree, int *trees, struct error *err);

/* In the parent, where plan.bindDevices: the host must have each of the devices that the bundle names, under the same path. A mode that is
 * not the one that is asked for is only warned about, and so is nobody's ownership. */
int dev_nodes_check_host(const struct plan_plan *plan, struct error *err);
