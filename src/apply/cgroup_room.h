/* One more process than a cgroup's limit allows, for a moment.
 *
 * Where a process has to be made to take the place of another, both are in the cgroup, and so for all that is known of them to whoever is in
 * there: a process that waited outside for its place would be without the limits and device rules of the container, and who may trace it
 * would fork from it there. */
#pragma once

#include <stdint.h>

/* pids.max of the cgroup FD. 0, -ENOSPC where it has no limit of its own that could be raised, or a negative errno. */
int cgroup_room_read(int fd, uint64_t *ret_limit);
int cgroup_room_write(int fd, uint64_t limit);
