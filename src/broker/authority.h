/* A destination: host and port, in the one form in which policy, DNS, Host field and TLS name are compared. */
#pragma once

#include "broker/address.h"
#include "broker/refusal.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HOST_MAX 253 /* RFC 1035, 2.3.4, as text without the last dot */

enum host_kind { HOST_NAME, HOST_ADDRESS };

struct authority {
        char host[HOST_MAX + 1]; /* lower case, no trailing dot; an address in its canonical text, IPv6 without brackets */
        enum host_kind kind;
        struct address address;  /* of HOST_ADDRESS */
        uint16_t port;
};

/* The N bytes of TEXT are a host as a URI writes it: a name (one trailing dot is taken off), four decimal numbers, or an IPv6 address in
 * brackets. An IPv4-mapped address is the IPv4 address (address.h). What another resolver could read as something else is refused: escapes,
 * zones, other spellings of IPv4 (0x7f.1, 127.1, 017700000001), bytes outside letters, digits, hyphen, underscore and dot.
 * ret: host, kind and address are set, port is 0; untouched when refused. */
enum refusal authority_parse_host(const char *text, size_t n, struct authority *ret);

/* host[:port]. default_port: where TEXT has none; 0 when there must be one, as in CONNECT (RFC 9110, 9.3.6). */
enum refusal authority_parse(const char *text, size_t n, uint16_t default_port, struct authority *ret);

bool authority_equal_host(const struct authority *a, const struct authority *b);

/* The canonical text, with brackets, and with the port unless it is DEFAULT_PORT. */
struct authority_text { char text[HOST_MAX + sizeof ":65535"]; };
struct authority_text authority_print(const struct authority *a, uint16_t default_port);
