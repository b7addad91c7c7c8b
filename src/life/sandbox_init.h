/* Process 1 of a sandbox: what the first child becomes when it has built the sandbox. It runs nothing of the payload's: commands live in PID
 * namespaces and leaves of their own (command_init.h), so what goes wrong in one of them ends that one. */
#pragma once

#include "life/child.h"

/* Says READY, waits for GO, which carries the init of the bundle's process by its number here (0: there is none), gives up every privilege
 * and serves (init.h). Returns only on failure. Without a process of the bundle's it is this one that waits for `start`. */
int sandbox_init(struct child *child, struct error *err);
