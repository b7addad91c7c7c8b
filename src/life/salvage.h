/* For delete --force of a container whose status was lost or damaged. */
#pragma once

#include "life/state.h"

/* Fills CONTAINER's status, of which nothing is known, with the one claim that can be guessed: the cgroup of the plan, of which the last
 * component was made for this container. Where there is no plan either, and processes live in a cgroup that is named like the container,
 * nobody knows whether they are its own: CODE_STATE_CORRUPT, and the error says which they are and what to do. */
int container_salvage(struct arena *arena, struct container *container, struct error *err);
