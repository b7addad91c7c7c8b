/* Mode proxy: what we write to the upstream and what it may answer. Its answer is read to the end of its head and goes no further: what an
 * upstream says to us is none of the client's business, and a client that were shown it could take it for the destination's (the class of
 * CVE-2015-5400). */
#pragma once

#include "base/str.h"
#include "broker/address.h"
#include "broker/refusal.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UPSTREAM_LINE_MAX 8192u
#define UPSTREAM_HEAD_MAX 32768u /* of all heads of one answer, the interim ones included */
#define UPSTREAM_INTERIM_MAX 8u  /* 1xx answers before the final one (RFC 9110, 15.2) */

#define UPSTREAM_STATUS 13u /* "HTTP/1.1 200 " */

enum upstream_status { UPSTREAM_MORE, UPSTREAM_DONE /* the tunnel begins behind the bytes used */, UPSTREAM_REFUSED };

struct upstream_answer {
        enum upstream_status status;
        enum refusal refusal; /* of UPSTREAM_REFUSED: REFUSAL_PROXY_* */
        uint16_t code;        /* the status of the final answer, 0 before */

        /* Inside. */
        char line[UPSTREAM_STATUS]; /* the beginning of the status line */
        uint32_t n_line, n_head;
        uint8_t interim;
        bool in_fields, in_value, cr;
};

/* Appends CONNECT for the checked ADDRESS, never for a name, which the upstream would look up once more. */
void upstream_request(const struct address *address, uint16_t port, struct str *out);

/* Reads on, in an ANSWER that began zeroed; however the N bytes are cut, the result is the same. ret_used: how many belong to the head. */
enum upstream_status upstream_feed(struct upstream_answer *answer, const char *data, size_t n, size_t *ret_used);
