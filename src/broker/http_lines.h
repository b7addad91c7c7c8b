/* The lines of a head, of a request as of an answer (RFC 9112, 2.2), and the fields that all but the first of them are. */
#pragma once

#include "base/str.h"
#include "broker/refusal.h"

#define HTTP_LINE_MAX 8192u  /* one line without its end */
#define HTTP_HEAD_MAX 32768u /* all of it, with the empty line */
#define HTTP_FIELDS_MAX 100u

struct http_lines {
        struct str bytes;
        uint32_t start; /* of the current line */
};

/* N bytes come, of which some are lines: makes room once for as much as a head mostly has. */
static inline void http_lines_expect(struct http_lines *lines, size_t n) {
        if (!lines->bytes.room)
                str_reserve(&lines->bytes, n < 1024 ? n : 1024);
}

/* One byte at a time, so that where the pieces are cut can make no difference. ret_line: C ended a line, http_lines_last() is it, and
 * http_lines_next() goes on. */
enum refusal http_lines_add(struct http_lines *lines, char c, bool *ret_line);

/* The same for as many of the N bytes of DATA as are plain text and fit in, in one go: how many, perhaps none. The next byte is to be added by
 * itself. */
size_t http_lines_add_text(struct http_lines *lines, const char *data, size_t n);

/* Without its end. */
static inline const char *http_lines_last(const struct http_lines *lines, size_t *ret_n) {
        *ret_n = lines->bytes.size - lines->start - 2;
        return lines->bytes.text + lines->start;
}

static inline void http_lines_next(struct http_lines *lines) {
        lines->start = (uint32_t)lines->bytes.size;
}

struct http_field {
        uint16_t name, n_name, value, n_value; /* in the bytes of the head */
        bool dropped;                          /* does not go on to the other side */
};

/* The N bytes of TEXT, which stand in LINES, are "name: value". */
enum refusal http_field_split(const struct http_lines *lines, const char *text, size_t n, struct http_field *ret);

/* Marks what the Connection fields name: it is for this hop only (RFC 9110, 7.6.1). */
void http_drop_hops(const struct http_lines *lines, struct http_field *fields, size_t n);

/* Appends Content-Length. */
void http_write_length(uint64_t length, struct str *out);

/* Appends those that go on, a line each. */
void http_write_fields(const struct http_lines *lines, const struct http_field *fields, size_t n, struct str *out);
