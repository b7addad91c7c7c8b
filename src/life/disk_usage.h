/* What a sandbox keeps on disk, of what it may. */
#pragma once

#include "spec/result.h"
#include "spec/status.h"

/* What the project that DISK names holds now, beside its limits. 0 or a negative errno; RET is untouched on failure. */
int disk_usage(const struct status_disk_claim *disk, struct sage_disk *ret);
