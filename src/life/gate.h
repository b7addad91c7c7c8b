/* Where a created container waits for `start`: a listening Unix socket in its state directory.
 *
 * The directory is 0700, so only who may run the runtime on this --root can connect. `.start` while the container is being made,
 * `start` once it waits; `start` removes it, and whoever finds neither knows that the payload has been let go. */
#pragma once

#include <stdbool.h>

#include "base/error.h"

enum gate { GATE_NONE, GATE_MAKING, GATE_WAITING };

/* dir: the container's directory. ret: the listener, for the child to inherit. */
int gate_open(int dir, int *ret, struct error *err);
/* From now on the container is "created". */
int gate_ready(int dir, struct error *err);
int gate_state(int dir, enum gate *ret);
/* Takes the gate away and connects: exactly one `start` gets through. */
int gate_connect(int dir, int *ret, struct error *err);
