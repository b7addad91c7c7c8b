/* Is an address one of this host's own? Only the routing table knows, and it changes. */
#pragma once

#include "broker/vet.h"

/* A netlink socket to ask with; close-on-exec, owned by the caller. 0 or a negative errno. */
int route_open(int *ret_socket);

/* One bit an address that leads to this host itself, or to no single host at all: the route's type is another than unicast. An address
 * without any route is none of ours. Of a public address with an IPv4 address inside (NAT64, also that of the POLICY) that one is asked for
 * as well: the gateway would send what goes there back to us. Returns 0 or a negative errno, and then nothing may be assumed. */
int route_own(int socket, const struct policy *policy, const struct addresses *addresses, uint32_t *ret_own);
