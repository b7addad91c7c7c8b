/* Which mount namespaces may be joined: not those whose root must stay what it is. */
#pragma once

#include "base/error.h"

/* Refuses FD, a mount namespace to be joined, if it is the runtime's own or that of process 1: the container's root takes the place of "/" for
 * everybody in there, and the old one is detached. Fails as well when it cannot be told. */
int mount_namespace_check(int fd, struct error *err);
