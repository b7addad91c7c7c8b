/* What a strict sandbox has that no other container does: files made from text, and pins (schemas/plan.json, mountKind). In the child, while
 * ROOT is being furnished; descriptors that only have to be closed go into DONE. */
#pragma once

#include "apply/fd_batch.h"
#include "base/error.h"
#include "spec/plan.h"

/* M->data becomes the regular file M->destination, mode 0444. */
int mount_file(const struct plan_mount *m, int root, struct fd_batch *done, struct error *err);

/* Binds what is at M->destination on itself. Nothing on the way may be a symlink, and a file must have no other name, by which it could be
 * written. Where the way ends at a file, that is what was protected already; a missing name that ends in ".lock" is nobody's. */
int mount_pin(const struct plan_mount *m, int root, struct fd_batch *done, struct error *err);
