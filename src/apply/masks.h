/* linux.maskedPaths and linux.readonlyPaths. */
#pragma once

#include "base/error.h"
#include "spec/plan.h"

/* Hides the masked paths (files behind the host's null device, directories behind one empty read-only tmpfs) and makes the read-only ones
 * so. In the child, after mounts and devices and before rootfs_enter(), through ROOT. Paths that the container does not have are skipped.
 * The working directory may be changed. */
int masks_apply(const struct plan_plan *plan, int root, struct error *err);

/* Only those below TOP, an absolute path. */
int masks_apply_below(const struct plan_plan *plan, int root, const char *top, struct error *err);
