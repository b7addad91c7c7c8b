/* tmpcopyup: a tmpfs that starts with what the image has at that place. */
#pragma once

#include "base/error.h"

/* Copies all that is below FROM, a directory, to TO, an empty one: files, directories, symlinks, FIFOs, sockets' names and device nodes,
 * with owner, mode and modification time. Other mounts below FROM are left out. field: for messages. */
int mount_copyup(int from, int to, const char *field, struct error *err);
