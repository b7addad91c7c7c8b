/* Where the body of an answer ends. Its bytes go to the client as they came, chunks and trailers too, but none that is not understood, and
 * none behind the end. */
#pragma once

#include "broker/http_answer.h"

#define HTTP_CHUNK_LINE_MAX 4096u /* the line before a chunk, which may bear extensions that nobody uses */

struct http_body {
        enum http_status status;
        enum refusal refusal; /* of HTTP_REFUSED */

        /* Inside. */
        enum http_framing framing;
        uint64_t left; /* of the length, or of the chunk */
        uint8_t state; /* of chunks */
        uint8_t digits;
        uint16_t n_line;
        uint32_t n_trailers;
};

void http_body_begin(struct http_body *body, enum http_framing framing, uint64_t length);

/* Reads on; however the N bytes are cut, the result is the same. ret_used: how many belong to the body. */
enum http_status http_body_feed(struct http_body *body, const char *data, size_t n, size_t *ret_used);

/* The origin has ended its side: is the body whole? */
bool http_body_ends(const struct http_body *body);
