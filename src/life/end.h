/* The end of a container: everything it held is given back, then its poststop hooks run. */
#pragma once

#include "base/arena.h"
#include "life/state.h"

/* CONTAINER is locked, and is not afterwards. Kills what still runs. A poststop hook that fails is a warning: the container is gone all
 * the same (runtime-spec runtime.md, "Lifecycle" 13). */
int end(struct arena *arena, struct container *container, struct error *err);
