/* `delete --force` among those who are at work on the container, and wait for what never comes. */
#pragma once

#include "life/state.h"

/* Opens ROOT/ID with its lock, as container_open() does, and keeps whoever holds that from having it for ever.
 *
 * What a holder waits for ends with the container's processes, mostly; so these are killed first, and it undoes what it did and lets go. One
 * that waits for something else, such as a file system that does not answer to a bind mount's source, is killed after a second; what it leaves
 * is in the claims. Where the kernel does not let it die before the answer comes, it makes no other step, and RET comes without the lock.
 * CODE_BUSY when nobody can tell who holds it. */
int container_open_by_force(struct arena *arena, const char *root, const char *id, struct container *ret, struct error *err);
