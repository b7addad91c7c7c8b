/* How many commands of exec a sandbox has at a time (sage.sandbox.process.max_processes): as many as there are slots, each a lock in a file of
 * the container's directory. Whoever holds one and is killed has given it back. */
#pragma once

#include <stdint.h>

#include "base/error.h"
#include "life/state.h"

/* Takes one of N; CONTAINER is locked. *RET_FD holds it until it is closed. -EAGAIN, and nothing in ERR, where all are taken. */
int slot_take(const struct container *container, uint32_t n, int *ret_fd, struct error *err);

/* The same, and waits for one; CONTAINER is not locked any more, and was when slot_take() was called. Who came first is first. A signal ends this process while it waits. */
int slot_wait(const struct container *container, uint32_t n, int *ret_fd, struct error *err);

/* Is the slot FD one of CONTAINER's? Its directory may have been deleted, and another be there, while we waited. */
bool slot_is_of(const struct container *container, int fd);
