/* The cgroup that a process of exec is born in. */
#pragma once

#include "base/error.h"
#include "life/state.h"

/* Opens what BELOW (--cgroup; NULL: nothing was asked for) names below the container's own cgroup. Where nothing was asked for and that one
 * is gone, because the container's first process moved elsewhere, it is that one's. ret: an O_PATH descriptor, or -1: the container has no
 * cgroup. */
int join_cgroup_open(const struct container *container, const char *below, int *ret, struct error *err);

/* The cgroup of the container's first process: for a container whose own cgroup takes no more processes (cgroup-v2.rst, "No Internal Process
 * Constraint"), because it has split its resources among cgroups below. */
int join_cgroup_of_init(const struct container *container, int *ret, struct error *err);
