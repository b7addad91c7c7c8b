/* Letters, tokens and blanks of HTTP (RFC 9110, 5.6), whatever the locale says. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static inline char http_lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c; }

static inline bool http_is_token(const char *text, size_t n) {
        for (size_t i = 0; i < n; i++) {
                char c = http_lower(text[i]);

                if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && (c == '\0' || !strchr("!#$%&'*+-.^_`|~", c)))
                        return false;
        }
        return n > 0;
}

/* WORD is lower case. */
static inline bool http_equal(const char *text, size_t n, const char *word) {
        for (size_t i = 0; i < n; i++)
                if (word[i] == '\0' || http_lower(text[i]) != word[i])
                        return false;
        return word[n] == '\0';
}

static inline bool http_equal_texts(const char *a, size_t n_a, const char *b, size_t n_b) {
        for (size_t i = 0; n_a == n_b && i < n_a; i++)
                if (http_lower(a[i]) != http_lower(b[i]))
                        return false;
        return n_a == n_b;
}

static inline bool http_is_blank(char c) { return c == ' ' || c == '\t'; }

/* Takes the blanks off both ends. */
static inline void http_trim(const char **text, size_t *n) {
        while (*n && http_is_blank(**text))
                (*text)++, (*n)--;
        while (*n && http_is_blank((*text)[*n - 1]))
                (*n)--;
}
