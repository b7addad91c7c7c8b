/* Connects to one of several vetted addresses: in turn, the next one joining in when the one before has not answered within a moment, so
 * that a family without a way out does not cost its time-out (RFC 8305, 5). */
#pragma once

#include "broker/vet.h"

#define CONNECTOR_PARALLEL 4u
#define CONNECTOR_DELAY_NS 250000000ull /* RFC 8305, 8: Connection Attempt Delay, recommended value */

struct connector {
        const struct addresses *addresses; /* must live as long */
        uint16_t port, next;               /* next: the first address that was not tried */
        int error;                         /* of the attempt that failed last: positive errno */
        uint64_t wake_ns;                  /* CLOCK_MONOTONIC: when connector_step() shall be called again, UINT64_MAX: at an event only */
        struct connector_attempt {
                bool pending;
                int fd; /* of one that is pending */
                uint16_t address;
        } attempts[CONNECTOR_PARALLEL];
};

void connector_begin(struct connector *c, const struct addresses *addresses, uint16_t port);

/* Goes on as far as it can without waiting. Attempts that are under way are in EPOLL, with DATA. Returns 0 with a connected socket
 * (non-blocking, close-on-exec, in no epoll; owned by the caller), -EAGAIN, or the negative errno of the last attempt. */
int connector_step(struct connector *c, int epoll, uint64_t data, uint64_t now_ns, int *ret_fd, struct address *ret_address);

/* Gives up what is under way. */
void connector_end(struct connector *c);
