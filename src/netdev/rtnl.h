/* One rtnetlink(7) socket and its questions, on libmnl. A socket stays in the network namespace that it was made in. */
#pragma once

#include <libmnl/libmnl.h>

#include "base/error.h"

struct rtnl {
        struct mnl_socket *socket;
        unsigned sequence;
        char reason[128]; /* of the last request that failed, in the kernel's words; mostly empty */
};

int rtnl_open(struct rtnl *ret, struct error *err);
void rtnl_close(struct rtnl *rtnl);

/* Room for a request of this program, all of which are short. */
struct rtnl_request { _Alignas(struct nlmsghdr) char bytes[1024]; };

/* Sends REQUEST, whose header's type and flags are set but for NLM_F_REQUEST and NLM_F_ACK, and reads until the kernel has said all.
 * each: called for every message that is an answer (may be NULL). 0 or the kernel's negative errno; -EINTR: a list changed while it
 * was read, ask again. */
int rtnl_ask(struct rtnl *rtnl, struct nlmsghdr *request, int (*each)(const struct nlmsghdr *answer, void *data), void *data);
