/* The one way anything a container holds is given back: after a failed create, by delete, by gc, and after a crash. */
#pragma once

#include "base/error.h"
#include "life/state.h"

/* How long a killed process may take to die (uninterruptible sleep, a large core) before we say so. */
enum { RELEASE_WAIT_MS = 2000 };

/* Kills what runs in the container and waits, bounded, until it is gone. Anything gone already is success. Should something
 * survive: CODE_LOST, and the claims stay for the next try. */
int release_kill(const struct container *container, struct error *err);

/* release_kill(), then gives back every claim in the status and removes the container's directory. Idempotent: whatever a crash
 * left, in whatever order, the same call ends with nothing. */
int release(struct container *container, struct error *err);
