/* The second half of create: a container that waits at its gate is let go. */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "life/state.h"

/* Connects to the container's gate, hears how the exec went, relays what the program says to NOTIFIED (NOTIFY_SOCKET, or NULL) until it is
 * ready, and runs the poststart hooks. When one of those fails the container is deleted. */
int container_start(struct arena *arena, struct container *container, const char *notified, struct error *err);
