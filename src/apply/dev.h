/* The device nodes and links of a container's /dev. */
#pragma once

#include "base/error.h"
#include "spec/plan.h"

/* Makes the plan's devices and the links fd, stdin, stdout, stderr, core and ptmx, below ROOT and after mounts_attach(). Where /dev is a
 * bind of a host directory nothing in it is touched. Where /dev cannot be written to and is not ours, only devices that the bundle names
 * are missed. Runs with a umask of 0 (rootfs_prepare()).
 *
 * trees  what dev_nodes_take() filled; NULL: nodes are made here, or the host's bound where plan.bindDevices */
int dev_populate(const struct plan_plan *plan, int root, const int *trees, struct error *err);

/* The container's /dev, made if missing: a real directory, never a symlink, because everything in it is made by name (CVE-2026-41579 and
 * CVE-2026-47766: a symlink had nodes and the console made outside the root). */
int dev_open(int root, int *ret_dev, struct error *err);

/* The host's /dev/null, as a tree that can be cloned: verified to be the null device, whatever a container may have put in its own place
 * (CVE-2025-31133). */
int dev_open_null(int *ret_null, struct error *err);
