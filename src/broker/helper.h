/* What the dialer and its two helper programs say to each other, over a SOCK_SEQPACKET pair whose end is a helper's standard input. A helper
 * lives until that end is closed. Both sides check what they get: a helper reads what strangers sent. */
#pragma once

#include "broker/vet.h"

/* sage-egress-resolver: one question at a time, any number of them. */
struct lookup_question {
        char name[HOST_MAX + 1];
};

struct lookup_answer {
        uint16_t refusal; /* enum refusal: REFUSAL_NONE or REFUSAL_DNS_* */
        uint16_t n;
        struct {
                uint8_t v6, bytes[16];
        } addresses[VET_ADDRESSES_MAX];
};

/* sage-egress-tls: one job and then the end. With the message come three descriptors: the socket that is connected to the upstream, the one
 * whose other end gets the plain bytes, and that one's witness: a socket on which either side writes a byte before it ends the plain bytes in
 * order (the front: before it closes them). Without the byte an end is a reset, or the death of a process. The answer comes when the
 * handshake is over; then bytes flow until both sides have ended. */
#define TLS_JOB_SOCKETS 3
struct tls_job {
        char host[HOST_MAX + 1]; /* of the certificate, and, for a name, of SNI */
        uint8_t is_address;
};

struct tls_answer {
        uint16_t refusal; /* enum refusal: REFUSAL_NONE or REFUSAL_PROXY_* */
        char detail[62];  /* for the log, printable ASCII */
};
