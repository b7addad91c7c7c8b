/* One more process than a cgroup's limit allows, for a moment.
 *
 * Where a process has to be made to take the place of another, both are in the cgroup, and so for all that is known of them to whoever is in
 * there: a process that waited outside for its place would be without the limits and device rules of the container, and who may trace it
 * would fork from it there. */
#pragma once

#include <stdint.h>

/* Raises pids.max of the cgroup FD by one. ret_before: what it was, for cgroup_room_end(). 0, -ENOSPC where it has no limit of its own to
 * raise, or a negative errno. */
int cgroup_room_begin(int fd, uint64_t *ret_before);
int cgroup_room_end(int fd, uint64_t before);
