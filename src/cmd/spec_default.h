/* The config.json that `spec` writes. */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"
#include "spec/config.h"

/* A shell on a terminal in a read-only root, as `runc spec` and `crun spec` have it. rootless: for an ordinary user, with the caller's own
 * ids as the container's root and without what such a user cannot have. Lives in ARENA, and in part in constants: not to be changed. */
int spec_default(struct arena *arena, bool rootless, struct oci_config **ret, struct error *err);
