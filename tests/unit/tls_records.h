/* Records of TLS, RFC 8446, 5.1. */
#pragma once

#include "unit.h"

#include "base/str.h"

static inline void put16(struct str *out, size_t n) {
        str_putc(out, (char)(n >> 8));
        str_putc(out, (char)n);
}

/* N bytes of handshake in records of at most SIZE bytes. */
static inline void put_records(struct str *out, const char *data, size_t n, size_t size) {
        for (size_t at = 0; at < n; at += size) {
                size_t part = n - at < size ? n - at : size;

                str_add(out, "\x16\3\1", 3);
                put16(out, part);
                str_add(out, data + at, part);
        }
}
