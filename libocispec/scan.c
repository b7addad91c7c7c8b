#include "libocispec/scan.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* clang-format off */

/* RFC 3629 section 4: by the first byte, the length of the sequence and what the second byte may be; later ones are 80..BF. */
static const struct {
        unsigned char first, last, size, low, high;
} sequences[] = {
        { 0xc2, 0xdf, 2, 0x80, 0xbf },
        { 0xe0, 0xe0, 3, 0xa0, 0xbf }, /* below: a longer form than needed */
        { 0xe1, 0xec, 3, 0x80, 0xbf },
        { 0xed, 0xed, 3, 0x80, 0x9f }, /* above: surrogates */
        { 0xee, 0xef, 3, 0x80, 0xbf },
        { 0xf0, 0xf0, 4, 0x90, 0xbf }, /* below: a longer form than needed */
        { 0xf1, 0xf3, 4, 0x80, 0xbf },
        { 0xf4, 0xf4, 4, 0x80, 0x8f }, /* above: beyond U+10FFFF */
};

/* Bytes that end the quick run through a string. */
static const uint8_t special[256] = {
        [0 ... 0x1f] = 1, ['"'] = 1, ['\\'] = 1, [0x80 ... 0xff] = 1,
};

/* clang-format on */

size_t spec_utf8_size(const char *text, size_t n) {
        const unsigned char *p = (const unsigned char *)text;

        if (n > 0 && p[0] < 0x80)
                return 1;
        for (size_t i = 0; n > 1 && i < sizeof sequences / sizeof sequences[0]; i++) {
                if (p[0] < sequences[i].first || p[0] > sequences[i].last)
                        continue;
                if (n < sequences[i].size || p[1] < sequences[i].low || p[1] > sequences[i].high)
                        return 0;
                for (size_t k = 2; k < sequences[i].size; k++)
                        if ((p[k] & 0xc0) != 0x80)
                                return 0;
                return sequences[i].size;
        }
        return 0;
}

/* The value of four hexadecimal digits, or -1. */
static int four_digits(const char *p, const char *end) {
        int value = 0;

        if (end - p < 4)
                return -1;
        for (int i = 0; i < 4; i++) {
                int c = (unsigned char)p[i], letter = c | 0x20;

                if (c >= '0' && c <= '9')
                        value = value * 16 + c - '0';
                else if (letter >= 'a' && letter <= 'f')
                        value = value * 16 + letter - 'a' + 10;
                else
                        return -1;
        }
        return value;
}

/* P stands on the backslash of an escape in a string. The bytes it takes, or 0 with a text of what is wrong. Escapes that are no
 * JSON at all are left for the parser, which says so. */
static size_t escape_size(const char *p, const char *end, struct scan_fault *fault) {
        int code, second;

        if (end - p < 2 || p[1] != 'u' || (code = four_digits(p + 2, end)) < 0)
                return end - p < 2 ? 1 : 2;
        if (code == 0) {
                /* Every string ends up in a system call or a C library: what follows the NUL would silently be lost. */
                snprintf(fault->text, sizeof fault->text, "expected strings without NUL, found \\u0000");
                return 0;
        }
        if (code < 0xd800 || code > 0xdfff)
                return 6;
        second = end - p >= 12 && p[6] == '\\' && p[7] == 'u' ? four_digits(p + 8, end) : -1;
        if (code < 0xdc00 && second >= 0xdc00 && second <= 0xdfff)
                return 12;
        snprintf(fault->text, sizeof fault->text, "expected a pair of surrogates, found a lone \\u%04x", (unsigned)code);
        return 0;
}

/* P stands behind the opening quote. The place behind the closing one, or END; NULL with a fault. */
static const char *scan_string(const char *p, const char *end, const char **ret_at, struct scan_fault *fault) {
        while (p < end) {
                unsigned char c = (unsigned char)*p;
                size_t n = 1;

                if (!special[c]) {
                        p++;
                        continue;
                }
                *ret_at = p;
                if (c == '"')
                        return p + 1;
                if (c == '\\') {
                        n = escape_size(p, end, fault);
                } else if (c < 0x20) {
                        snprintf(fault->text, sizeof fault->text,
                                "expected control characters in strings to be escaped, found the byte 0x%02x", c);
                        return NULL;
                } else if ((n = spec_utf8_size(p, (size_t)(end - p))) == 0) {
                        snprintf(fault->text, sizeof fault->text, "expected UTF-8, found the byte 0x%02x", c);
                }
                if (n == 0)
                        return NULL;
                p += n;
        }
        return end;
}

bool spec_scan(const char *text, size_t size, struct scan_fault *ret_fault) {
        const char *end = text + size, *p = text;

        if (size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
                *ret_fault = (struct scan_fault){ .text = "expected JSON, found a byte order mark before it" };
                return false;
        }
        while (p < end && (p = memchr(p, '"', (size_t)(end - p)))) {
                const char *at = p, *behind = scan_string(p + 1, end, &at, ret_fault);

                if (!behind) {
                        ret_fault->at = (size_t)(at - text);
                        ret_fault->token = (size_t)(p - text);
                        return false;
                }
                p = behind;
        }
        return true;
}
