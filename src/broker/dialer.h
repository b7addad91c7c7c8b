/* The broker is two processes. The front reads what clients send; it may open, connect and start nothing (lockdown.h). The dialer never
 * sees a byte of theirs: it is asked for a destination by name and port, decides about it once more by the same functions (policy.h, vet.h),
 * looks it up, vets every address, connects, in mode proxy asks the upstream, and hands over the connected socket. So whoever takes the
 * front over reaches what the policy allows, and nothing else.
 *
 *     front ── struct dialer_request ──► dialer ── name ──► sage-egress-resolver (getaddrinfo, killed at the deadline)
 *           ◄── struct dialer_answer ──         ── socket ► sage-egress-tls      (OpenSSL, for an https:// upstream)
 *                + connected socket
 */
#pragma once

#include "base/error.h"
#include "broker/policy.h"

#include <sys/types.h>

struct dialer_options {
        const struct policy *policy; /* mode allowlist or proxy; must live on */
        const char *programs;        /* directory of the two helper programs; NULL: where they are installed */
        uid_t uid;                   /* started as root: who both processes become (lockdown.h does so for the front); else ignored */
        gid_t gid;
};

struct dialer {
        int socket; /* the front's end, non-blocking. EPOLLIN: an answer; EPOLLHUP: the dialer is gone, and so is every reason to live */
        uint64_t namespaces; /* CLONE_NEW*: the front's own ones; what this host did not give is missing here */
        uid_t uid;           /* as in the options */
        gid_t gid;
        bool witnessed; /* through an https:// upstream: an answer has two descriptors */
};

/* Splits this process. The child, in pid, mount and ipc namespaces of its own where the host allows it (in a user namespace too, where we
 * are not root), returns from here and becomes the front. The parent stays behind as the dialer and never returns: it keeps nothing but
 * its socket, and exits with the front's status once that has ended. It passes SIGTERM, SIGINT and SIGHUP on to the front, and neither
 * process outlives the other. To be called with one thread, before anything was read from a client; on failure nothing was split.
 *
 * What is open is the front's from here on; the front closes what it does not need in lockdown_front(). */
int dialer_start(const struct dialer_options *options, struct dialer *ret, struct error *err);

/* Waits until the dialer has locked itself down, or reports why it could not. lockdown_front() does so, after its own part: the two go on at
 * the same time. Before, the socket is not to be used. */
int dialer_await(const struct dialer *dialer, struct error *err);

/* Asks for a connection. tag: the caller's own, not in use; the answer bears it. deadline_ns: CLOCK_MONOTONIC, when all of this must be
 * over; the TLS program of an https:// upstream is killed half a second later even when the tunnel stands, since the connection has the same
 * deadline.
 * 0, -EAGAIN when the socket is full (EPOLLOUT tells when to try again), or -EPIPE when the dialer is gone. */
int dialer_connect(
        const struct dialer *dialer, uint32_t tag, const struct authority *authority, enum policy_scheme scheme, uint64_t deadline_ns);

/* Nobody waits for the answer to TAG any more. One that is under way already may still arrive: its descriptor is to be closed. Never fails
 * to be heard for good: an answer nobody wanted is all that a lost cancel costs. */
void dialer_cancel(const struct dialer *dialer, uint32_t tag);

struct dialer_answer {
        uint32_t tag;
        enum refusal refusal; /* REFUSAL_NONE: FD is connected */

        /* Owned by the receiver; non-blocking, close-on-exec; -1 when refused. Through an https:// upstream it is a Unix
         * stream socket, the plain side of the TLS program. Nothing was read or written past the upstream's answer. */
        int fd;
        int witness; /* of that Unix socket, -1 of any other: to whom it belongs, and what it says, is helper.h's */

        bool has_address;
        struct address address; /* of the destination: the one connected to, or the one that was refused */
        uint16_t n_addresses;   /* how many the name has */
        char detail[80];        /* for the log, printable ASCII: "loopback", "Connection refused", "answered 403" … */
};

/* 0, -EAGAIN when there is none, -EPIPE when the dialer is gone. */
int dialer_receive(const struct dialer *dialer, struct dialer_answer *ret);

/* Nobody wants it any more. */
void dialer_drop(struct dialer_answer *answer);
