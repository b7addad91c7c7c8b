/* The cgroup of a sandbox, and the limits in it that Sage's resources ask for. Nothing here runs without sage.* annotations. */
#pragma once

#include "plan/compilation.h"

/* Adds the writes for plan->sage's cpu_percent, memory_mb and max_processes to CGROUP, in place of what the bundle has for the same files, which
 * is the same (sage_limits.c), and the controllers that they need. For a strict sandbox only where they are to be hard. */
void sandbox_cgroup_limits(struct compilation *c, struct plan_cgroup *cgroup);

/* What ASKED is as writes to files of a cgroup; how many. */
enum { SANDBOX_CGROUP_WRITES = 4 };
size_t sandbox_cgroup_writes(
        struct arena *arena, const struct sage_resources *asked, struct plan_cgroup_write limits[SANDBOX_CGROUP_WRITES]);

/* Where the host says that sandboxes are made, PATH becomes a cgroup there, below the cgroup2 mount, called like the sandbox.
 * CODE_CONFIG_INVALID where that is no cgroup, or linux.cgroupsPath, which PATH was, names another one. */
int sandbox_cgroup_place(struct compilation *c, const char **path);
