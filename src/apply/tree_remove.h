/* Directories of the host that a container could write, removed with all that is in them. */
#pragma once

#include "base/error.h"

/* Removes NAME, one component, below the directory DIR, and everything in it, as `rm -rf` would. What is not there is success.
 *
 * A payload shaped all of it: no symlink is followed, nothing is opened but directories, and however deep it nested them, no more than a few
 * descriptors and as much of the stack are needed. Its processes must be dead. CODE_RELEASE_FAILED. */
int tree_remove(int dir, const char *name, struct error *err);
