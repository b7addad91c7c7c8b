/* Is an address one of the public internet? Decided on its bytes by a table of our own, because every library's idea of "global" differs
 * with its version, and an address that hides another one (NAT64, 6to4 …) is how a checked name still ends at a metadata service. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct address {
        bool v6;
        uint8_t bytes[16]; /* network order; the first four of IPv4, the rest of them zero */
};

/* Ordered: of an address and of one embedded in it, the greater counts. */
enum address_verdict {
        ADDRESS_GLOBAL,
        ADDRESS_PRIVATE, /* not global: only with deny_private_networks=false */
        ADDRESS_NEVER,   /* no unicast destination that means anything: refused whatever a policy says */
};

struct address_range {
        uint8_t base[16];
        uint8_t bits; /* length of the prefix */
        uint8_t verdict;
        uint8_t embedded; /* 1 + index of the first byte of an embedded IPv4 address, 0: none */
        bool inverted;    /* the embedded address is stored as its complement (Teredo) */
        bool fake_ip;     /* what local resolvers of proxy programs hand out in place of the real address */
        const char *name;
};

/* The rows of one family, sorted by base and then by length, so that of two that nest the inner one comes later. The first covers all. */
const struct address_range *address_ranges(bool v6, size_t *ret_n);

/* What the caller knows of the host it runs on, and the tables cannot. */
struct address_host {
        const struct address *own; /* addresses of its interfaces, also public ones: services bound to 0.0.0.0 listen there */
        size_t n_own;
        const struct address_prefix {
                uint8_t base[16];
                uint8_t bits; /* 32, 40, 48, 56, 64 or 96 (RFC 6052, 2.2); rows with another length are passed over */
        } *nat64; /* prefixes of the operator's NAT64 beside 64:ff9b::/96 */
        size_t n_nat64;
};

struct address_class {
        enum address_verdict verdict;
        const char *name; /* why: the row of the table, a constant */
        bool fake_ip;
        bool has_embedded;
        struct address embedded; /* for the log */
};

/* BYTES are 4 or 16 in network order. An IPv4-mapped IPv6 address (::ffff:0:0/96) becomes the IPv4 address: the kernel would connect there,
 * and one destination shall have one form. */
struct address address_from_bytes(bool v6, const uint8_t *bytes);

bool address_equal(const struct address *a, const struct address *b);

/* host may be NULL. */
struct address_class address_classify(const struct address *a, const struct address_host *host);

/* The class's name, and the IPv4 address inside where there is one: "loopback (127.0.0.1 inside)". */
struct address_reason { char text[80]; };
struct address_reason address_explain(const struct address_class *class);

/* The canonical text (RFC 5952), without brackets. */
struct address_text { char text[46]; };
struct address_text address_print(const struct address *a);
