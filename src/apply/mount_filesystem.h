/* Detached trees of new file systems: fsopen(2) and its relatives in place of mount(2), which takes a path. */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "spec/plan.h"

/* A new file system of M's type and source, with its flags and the options DATA (mount_data(); NULL: none). Only where READ_ONLY is set,
 * its MS_RDONLY counts, too: what is to be filled first becomes read-only later. ret_tree: as open_tree(2) would give it.
 * 0, or a negative errno: fsconfig(2) has EINVAL for an option that the file system does not know. */
int mount_filesystem_open(const struct plan_mount *m, bool read_only, const char *data, int *ret_tree);
