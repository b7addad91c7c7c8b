/* The head of what an origin answers to a plain request (RFC 9110, 9112), by the same closed grammar as requests: where the body ends is
 * told by one reader only, so an answer that was cut off is never taken for a whole one. The client gets the head written anew. */
#pragma once

#include "broker/http_head.h"

#define HTTP_INTERIM_MAX 8u /* 1xx answers before the final one (RFC 9110, 15.2) */

enum http_framing {
        HTTP_BODY_NONE, /* to HEAD, 1xx, 204 and 304, whatever the fields say (RFC 9112, 6.3) */
        HTTP_BODY_LENGTH,
        HTTP_BODY_CHUNKED,
        HTTP_BODY_CLOSE, /* ends when the origin ends its side */
};

struct http_answer {
        enum http_status status;
        enum refusal refusal; /* of HTTP_REFUSED: REFUSAL_ORIGIN_… */

        /* Of HTTP_DONE. */
        uint16_t code;
        enum http_framing framing;
        uint64_t length; /* of HTTP_BODY_LENGTH */

        /* Inside. */
        struct http_lines lines;
        bool to_head, http10; /* asked by HEAD; answered in HTTP/1.0 */
        bool has_length, has_transfer_encoding;
        uint16_t reason, n_reason;
        uint16_t n_fields;
        struct http_field fields[HTTP_FIELDS_MAX];
};

/* method: of the request, as http_head has it. Frees nothing: ANSWER is new, or was freed. */
void http_answer_begin(struct http_answer *answer, const char *method);
void http_answer_free(struct http_answer *answer);
#define _cleanup_http_answer_ __attribute__((cleanup(http_answer_free)))

/* As http_head_feed(). */
enum http_status http_answer_feed(struct http_answer *answer, const char *data, size_t n, size_t *ret_used);

/* 1xx: another answer follows, for which to begin again. */
static inline bool http_answer_is_interim(const struct http_answer *answer) {
        return answer->code < 200;
}

/* Appends the head as the client gets it: without what is for one hop only, and with our own Connection. */
void http_answer_write(const struct http_answer *answer, struct str *out);
