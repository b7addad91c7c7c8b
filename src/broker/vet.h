/* The second half of the one decision: what the name turned out to mean. */
#pragma once

#include "broker/policy.h"

#define VET_ADDRESSES_MAX 32u /* of one name; nobody publishes more, and each is tried in turn */

struct addresses {
        struct address list[VET_ADDRESSES_MAX];
        uint16_t n;
};

struct vetting {
        enum refusal refusal;       /* REFUSAL_NONE: all of them may be connected to */
        struct address address;     /* the one that was refused */
        struct address_class class; /* of it, for the log; its name is another where not the class refuses it */
};

/* One address that is refused refuses them all: a name that means a public host to us and a private one to the next, or now and in a second,
 * is not what the policy's author thought of.
 *
 * kind       what the client asked for: a name, or the address itself
 * own        one bit an address: it is one of the host's (route.h)
 * upstream   the addresses of the upstream proxy in mode proxy, which is no destination; NULL or empty otherwise */
struct vetting vet(const struct policy *policy, enum host_kind kind, const struct addresses *addresses, uint32_t own,
        const struct addresses *upstream);
