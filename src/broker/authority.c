#define _GNU_SOURCE
#include "broker/authority.h"

#include <arpa/inet.h>
#include <string.h>

/* Never ctype.h: what a letter is does not depend on the locale. */
static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c; }

/* Says of a whole string what is wrong with it before anything is made of its parts. */
static enum refusal check_bytes(const char *text, size_t n) {
        for (size_t i = 0; i < n; i++) {
                if (text[i] == '@')
                        return REFUSAL_USERINFO;
                if (text[i] == '%')
                        return text[0] == '[' ? REFUSAL_HOST_ZONE : REFUSAL_HOST_ENCODING;
                if ((unsigned char)text[i] >= 0x80)
                        return REFUSAL_HOST_ENCODING;
                if (text[i] <= ' ' || text[i] == 0x7f)
                        return REFUSAL_HOST_NAME;
        }
        return REFUSAL_NONE;
}

static void set_address(struct authority *ret, struct address address) {
        *ret = (struct authority){ .kind = HOST_ADDRESS, .address = address };
        strcpy(ret->host, address_print(&address).text); /* which is shorter than any host may be */
}

/* RFC 3986, 3.2.2: IP-literal. inet_pton(3) reads the grammar of RFC 4291 and nothing else. */
static enum refusal parse_ipv6(const char *text, size_t n, struct authority *ret) {
        char copy[INET6_ADDRSTRLEN];
        uint8_t bytes[16];

        if (n < 2 || text[n - 1] != ']' || n - 2 >= sizeof copy)
                return REFUSAL_HOST_BRACKETS;
        memcpy(copy, text + 1, n - 2);
        copy[n - 2] = '\0';
        if (inet_pton(AF_INET6, copy, bytes) != 1)
                return REFUSAL_HOST_BRACKETS;
        set_address(ret, address_from_bytes(true, bytes));
        return REFUSAL_NONE;
}

static bool parse_ipv4(const char *text, size_t n, uint8_t ret_bytes[4]) {
        size_t at = 0;

        for (int part = 0; part < 4; part++) {
                unsigned value = 0;
                size_t start = at;

                if (part > 0 && (at == n || text[at++] != '.'))
                        return false;
                if (part > 0)
                        start = at;
                while (at < n && is_digit(text[at]) && at - start < 3)
                        value = value * 10 + (unsigned)(text[at++] - '0');
                if (at == start || value > 255 || (text[start] == '0' && at - start > 1))
                        return false;
                ret_bytes[part] = (uint8_t)value;
        }
        return at == n;
}

/* The WHATWG URL standard's "ends in a number": libraries read a host as IPv4 when its last label is all digits or 0x and hexadecimal
 * digits. Names such as 3com.com and 0x0.st are none. */
static bool ends_in_number(const char *host, size_t n) {
        const char *dot = memrchr(host, '.', n), *label = dot ? dot + 1 : host;
        size_t size = n - (size_t)(label - host);

        if (size >= 2 && label[0] == '0' && label[1] == 'x') {
                for (size_t i = 2; i < size; i++)
                        if (!is_digit(label[i]) && !(label[i] >= 'a' && label[i] <= 'f'))
                                return false;
                return true;
        }
        for (size_t i = 0; i < size; i++)
                if (!is_digit(label[i]))
                        return false;
        return size > 0;
}

/* RFC 1123, 2.1, and the underscore: not of a host name there, but of names that the DNS has all the same (RFC 2181, 11), such as
 * my_bucket.s3.amazonaws.com, and that browsers, curl and getaddrinfo(3) take. */
static bool is_name(const char *host, size_t n) {
        size_t label = 0;

        for (size_t i = 0; i <= n; i++) {
                if (i < n && host[i] != '.') {
                        if (!is_digit(host[i]) && !is_lower(host[i]) && host[i] != '-' && host[i] != '_')
                                return false;
                        continue;
                }
                if (i == label || i - label > 63 || host[label] == '-' || host[i - 1] == '-')
                        return false;
                label = i + 1;
        }
        return true;
}

enum refusal authority_parse_host(const char *text, size_t n, struct authority *ret) {
        enum refusal refusal = check_bytes(text, n);
        char host[HOST_MAX + 1];
        uint8_t ipv4[4];

        if (n == 0)
                return REFUSAL_HOST_EMPTY;
        if (refusal)
                return refusal;
        if (text[0] == '[')
                return parse_ipv6(text, n, ret);
        if (memchr(text, '[', n) || memchr(text, ']', n))
                return REFUSAL_HOST_BRACKETS;
        if (n > 1 && text[n - 1] == '.')
                n--;
        if (n > HOST_MAX)
                return REFUSAL_HOST_NAME;
        for (size_t i = 0; i < n; i++)
                host[i] = lower(text[i]);
        host[n] = '\0';

        if (ends_in_number(host, n)) {
                if (!parse_ipv4(host, n, ipv4))
                        return REFUSAL_HOST_NUMBER;
                set_address(ret, address_from_bytes(false, ipv4));
                return REFUSAL_NONE;
        }
        if (!is_name(host, n))
                return REFUSAL_HOST_NAME;
        *ret = (struct authority){ .kind = HOST_NAME };
        memcpy(ret->host, host, n + 1);
        return REFUSAL_NONE;
}

static enum refusal parse_port(const char *text, size_t n, uint16_t *ret) {
        unsigned value = 0;

        if (n == 0 || n > 5 || text[0] == '0')
                return REFUSAL_PORT;
        for (size_t i = 0; i < n; i++) {
                if (!is_digit(text[i]))
                        return REFUSAL_PORT;
                value = value * 10 + (unsigned)(text[i] - '0');
        }
        if (value > UINT16_MAX)
                return REFUSAL_PORT;
        *ret = (uint16_t)value;
        return REFUSAL_NONE;
}

enum refusal authority_parse(const char *text, size_t n, uint16_t default_port, struct authority *ret) {
        const char *bracket = n && text[0] == '[' ? memchr(text, ']', n) : NULL;
        const char *behind = bracket ? bracket + 1 : text, *colon = memchr(behind, ':', n - (size_t)(behind - text));
        size_t host = colon ? (size_t)(colon - text) : n;
        uint16_t port = default_port;
        struct authority a;
        enum refusal refusal;

        /* user:password@host has its colon elsewhere, so this is looked for first. */
        if (memchr(text, '@', n))
                return REFUSAL_USERINFO;
        refusal = authority_parse_host(text, host, &a);
        if (!refusal && colon)
                refusal = parse_port(colon + 1, n - host - 1, &port);
        if (refusal)
                return refusal;
        if (port == 0)
                return REFUSAL_PORT;
        *ret = a;
        ret->port = port;
        return REFUSAL_NONE;
}

bool authority_equal_host(const struct authority *a, const struct authority *b) { return strcmp(a->host, b->host) == 0; }

static char *print_port(char *to, unsigned port) {
        char digits[5];
        size_t n = 0;

        do
                digits[n++] = (char)('0' + port % 10);
        while (port /= 10);
        *to++ = ':';
        while (n)
                *to++ = digits[--n];
        return to;
}

struct authority_text authority_print(const struct authority *a, uint16_t default_port) {
        bool brackets = a->kind == HOST_ADDRESS && a->address.v6;
        struct authority_text text;
        char *end = text.text;

        if (brackets)
                *end++ = '[';
        end = stpcpy(end, a->host);
        if (brackets)
                *end++ = ']';
        if (a->port != default_port)
                end = print_port(end, a->port);
        *end = '\0';
        return text;
}
