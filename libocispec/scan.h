/* What yajl lets through and we do not: text that is no UTF-8, NUL and lone surrogates written as \u escapes, a byte order mark. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct scan_fault {
        size_t at;      /* offset of the first byte that is wrong */
        size_t token;   /* offset of the token it lies in: everything before is fine as far as this scan goes */
        char text[112]; /* "expected …, found …" */
};

/* Looks at the whole text once. True when it found nothing; otherwise *ret_fault is the first fault. Whether the text is JSON is not
 * asked here: in text that is none, quotes may be paired wrongly, but then the parser stops at an earlier place. */
bool spec_scan(const char *text, size_t size, struct scan_fault *ret_fault);

/* The length of the UTF-8 sequence at P, of which at most N bytes may be read; 0 when it is none (RFC 3629: shortest form, no
 * surrogates, at most U+10FFFF). */
size_t spec_utf8_size(const char *p, size_t n);
