/* What a sandbox keeps on disk, of what it may. */
#pragma once

#include "life/state.h"
#include "spec/result.h"

/* What the project of CONTAINER's workspace holds now, beside its limits. -ENODATA: it has no hard limit on disk use. 0 or a negative
 * errno; RET is untouched on failure. */
int disk_usage(const struct container *container, struct sage_disk *ret);
