/* Room for one more process than the container's limit allows (cgroup_room.h), while it is locked. What the limit was is written to its status
 * first, so that whoever locks it next puts that back when we are killed meanwhile. */
#pragma once

#include "life/state.h"

/* Raises the limit by one. ret_cgroup: for room_end(). 0, -ENOSPC where the limit is not this cgroup's, or a negative errno. */
int room_begin(struct container *container, int *ret_cgroup);
/* What it was. 0 or a negative errno. */
int room_end(struct container *container, int cgroup);
/* What a killed runtime left. Where the limit is another by now, somebody else has set it, and it stays. */
void room_mend(struct container *container);
