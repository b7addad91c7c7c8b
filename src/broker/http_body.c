#define _GNU_SOURCE
#include "broker/http_body.h"

/* RFC 9112, 7.1. In the order in which they come. */
enum {
        CHUNK_SIZE,      /* hexadecimal digits */
        CHUNK_BLANK,     /* behind them, before the next */
        CHUNK_EXTENSION, /* from its semicolon on, unread */
        CHUNK_SIZE_LF,
        CHUNK_DATA,
        CHUNK_DATA_CR,
        CHUNK_DATA_LF,
        TRAILER_START, /* of a line: a field, or the end */
        TRAILER,
        TRAILER_LF,
        LAST_LF,
        COMPLETE,
};

void http_body_begin(struct http_body *body, enum http_framing framing, uint64_t length) {
        *body = (struct http_body){ .framing = framing, .left = framing == HTTP_BODY_LENGTH ? length : 0 };
        if (framing == HTTP_BODY_NONE || (framing == HTTP_BODY_LENGTH && length == 0))
                body->status = HTTP_DONE;
}

static int hex(char c) {
        if (c >= '0' && c <= '9')
                return c - '0';
        c |= 0x20;
        return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool is_text(char c) {
        return (unsigned char)c >= ' ' && c != 0x7f;
}

/* The state behind C, a byte of the line that says how long the next chunk is; -1: no such line. */
static int size_byte(struct http_body *body, char c) {
        if (body->state == CHUNK_SIZE_LF) {
                if (c != '\n')
                        return -1;
                body->digits = 0;
                body->n_line = 0;
                return body->left ? CHUNK_DATA : TRAILER_START;
        }
        if (++body->n_line > HTTP_CHUNK_LINE_MAX)
                return -1;
        if (body->state == CHUNK_SIZE && hex(c) >= 0) {
                body->left = body->left << 4 | (uint64_t)hex(c);
                return ++body->digits > 15 ? -1 : CHUNK_SIZE;
        }
        if (body->digits == 0)
                return -1;
        if (c == '\r')
                return CHUNK_SIZE_LF;
        if (body->state != CHUNK_EXTENSION)
                return c == ';' ? CHUNK_EXTENSION : c == ' ' || c == '\t' ? CHUNK_BLANK : -1;
        return is_text(c) || c == '\t' ? CHUNK_EXTENSION : -1;
}

static int trailer_byte(struct http_body *body, char c) {
        if (++body->n_trailers > HTTP_HEAD_MAX)
                return -1;
        if (body->state == TRAILER_LF)
                return c == '\n' ? TRAILER_START : -1;
        if (c == '\r')
                return body->state == TRAILER_START ? LAST_LF : TRAILER_LF;
        if (body->state == TRAILER_START && (c == ' ' || c == '\t'))
                return -1; /* would continue the line before */
        return is_text(c) || c == '\t' ? TRAILER : -1;
}

static int chunk_byte(struct http_body *body, char c) {
        switch (body->state) {
        case CHUNK_SIZE:
        case CHUNK_BLANK:
        case CHUNK_EXTENSION:
        case CHUNK_SIZE_LF:
                return size_byte(body, c);
        case CHUNK_DATA_CR:
                return c == '\r' ? CHUNK_DATA_LF : -1;
        case CHUNK_DATA_LF:
                return c == '\n' ? CHUNK_SIZE : -1;
        case LAST_LF:
                return c == '\n' ? COMPLETE : -1;
        default:
                return trailer_byte(body, c);
        }
}

/* How many of N bytes are plain data. */
static size_t take_data(struct http_body *body, size_t n) {
        size_t taken = n < body->left ? n : (size_t)body->left;

        body->left -= taken;
        return taken;
}

static size_t feed_chunks(struct http_body *body, const char *data, size_t n) {
        size_t used = 0;

        while (used < n && body->status == HTTP_MORE) {
                int next;

                if (body->state == CHUNK_DATA) {
                        used += take_data(body, n - used);
                        if (body->left == 0)
                                body->state = CHUNK_DATA_CR;
                        continue;
                }
                next = chunk_byte(body, data[used]);
                if (next < 0) {
                        body->refusal = REFUSAL_ORIGIN_CHUNKS;
                        body->status = HTTP_REFUSED;
                        return used; /* all before it was right */
                }
                used++;
                body->state = (uint8_t)next;
                if (next == COMPLETE)
                        body->status = HTTP_DONE;
        }
        return used;
}

enum http_status http_body_feed(struct http_body *body, const char *data, size_t n, size_t *ret_used) {
        size_t used = 0;

        if (body->status == HTTP_MORE && body->framing == HTTP_BODY_CLOSE)
                used = n;
        else if (body->status == HTTP_MORE && body->framing == HTTP_BODY_CHUNKED)
                used = feed_chunks(body, data, n);
        else if (body->status == HTTP_MORE) {
                used = take_data(body, n);
                if (body->left == 0)
                        body->status = HTTP_DONE;
        }
        *ret_used = used;
        return body->status;
}

bool http_body_ends(const struct http_body *body) {
        return body->status == HTTP_DONE || (body->status == HTTP_MORE && body->framing == HTTP_BODY_CLOSE);
}
