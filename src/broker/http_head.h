/* The head of the one request of a connection (RFC 9110, 9112), read by a closed grammar: what is not expected is refused, never repaired,
 * because every byte that two readers understand differently is a way around the check. What goes on to the origin is written anew from
 * what was read here, so what was checked is what is sent. */
#pragma once

#include "broker/authority.h"
#include "broker/http_lines.h"

enum http_status { HTTP_MORE, HTTP_DONE, HTTP_REFUSED };

struct http_head {
        enum http_status status;
        enum refusal refusal; /* of HTTP_REFUSED */

        /* Of HTTP_DONE. */
        bool connect; /* CONNECT; else a plain request for http:// */
        bool http10;
        bool expect_continue; /* the client waits for 100 Continue before it sends the body */
        bool answer_self;     /* OPTIONS with Max-Forwards: 0 (RFC 9110, 7.6.2) */
        struct authority authority;
        const char *method;      /* a constant */
        uint64_t content_length; /* 0 when there is none */

        /* Inside. */
        struct http_lines lines;
        uint16_t target, n_target; /* path and query */
        uint16_t n_fields;
        struct http_field fields[HTTP_FIELDS_MAX];
        struct authority host;
        bool has_host, has_length, has_transfer_encoding, last_hop;
};

void http_head_free(struct http_head *head);
#define _cleanup_http_head_ __attribute__((cleanup(http_head_free)))

/* Reads on, in a HEAD that began zeroed. The N bytes are what came next; however they are cut into pieces, the result is the same.
 * ret_used: how many belong to the head, when it is done; the rest is the body, or what a client sends into its tunnel early. */
enum http_status http_head_feed(struct http_head *head, const char *data, size_t n, size_t *ret_used);

/* Appends the request as the origin gets it: origin-form, our own Host, Content-Length and Connection, without what is for one hop only.
 * For plain requests that are done. The version is the client's: to a client of HTTP/1.0 no origin may send chunks, and we do not take
 * them apart (RFC 9112, 7.1). */
void http_head_write(const struct http_head *head, struct str *out);
