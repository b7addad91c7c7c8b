/* The project quota of a sandbox that is being launched, asked once more of the very directories that it will have: what was admitted by
 * their paths may have been changed since. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "spec/result.h"

/* May the limit of the project that directory TREE (O_PATH will do) belongs to be relied on for BYTES? As admit_disk(), errors at FIELD.
 * mount, mount_path      where the file system is mounted
 * tree_path              for messages */
int project_quota_check(struct arena *arena, int mount, const char *mount_path, int tree, const char *tree_path, uint64_t bytes,
        const char *field, uint32_t *ret_project, struct error *err);

/* What PROJECT holds and may hold, as a result record tells it. FD: any descriptor of the file system that is not O_PATH. Needs
 * CAP_SYS_ADMIN on the host. 0 or a negative errno. */
int project_quota_usage(int fd, uint32_t project, struct sage_disk *ret);

/* Is so little left that a write or a new file may have failed for it? The kernel tells a program that there is no room, and nobody else, and
 * XFS lets a write fail as a whole when there is not room for all of it. A limit that is absent, or not known, is never met. Pure. */
bool project_quota_full(const struct sage_disk *disk);
