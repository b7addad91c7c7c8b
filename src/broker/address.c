#define _GNU_SOURCE
#include "broker/address.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#define GLOBAL .verdict = ADDRESS_GLOBAL
#define PRIVATE .verdict = ADDRESS_PRIVATE
#define NEVER .verdict = ADDRESS_NEVER
#define IPV4(at) .embedded = 1 + (at)
#define FAKE .fake_ip = true

/* IANA, "IPv4 Special-Purpose Address Registry" and "IPv4 Multicast Address Space", and what clouds put elsewhere. Two exceptions that the
 * registry makes in 192.0.0.0/24 (.9 and .10, anycast of PCP and TURN) are none here: nothing serves HTTP there. */
static const struct address_range ranges_v4[] = {
        { { 0 }, 0, GLOBAL, .name = "public unicast" },
        { { 0 }, 8, NEVER, .name = "this network (0.0.0.0 connects to loopback)" },
        { { 10 }, 8, PRIVATE, .name = "private (RFC 1918)" },
        { { 100, 64 }, 10, PRIVATE, .name = "shared by carrier NAT (RFC 6598)" },
        { { 127 }, 8, PRIVATE, .name = "loopback" },
        { { 168, 63, 129, 16 }, 32, PRIVATE, .name = "Azure host services, on a public address" },
        { { 169, 254 }, 16, PRIVATE, .name = "link-local, cloud metadata" },
        { { 172, 16 }, 12, PRIVATE, .name = "private (RFC 1918)" },
        { { 192, 0, 0 }, 24, PRIVATE, .name = "IETF protocol assignments" },
        { { 192, 0, 2 }, 24, PRIVATE, .name = "documentation (TEST-NET-1)" },
        { { 192, 31, 196 }, 24, GLOBAL, .name = "AS112" },
        { { 192, 52, 193 }, 24, GLOBAL, .name = "AMT" },
        { { 192, 88, 99 }, 24, PRIVATE, .name = "6to4 relay anycast (deprecated)" },
        { { 192, 168 }, 16, PRIVATE, .name = "private (RFC 1918)" },
        { { 192, 175, 48 }, 24, GLOBAL, .name = "direct delegation AS112" },
        { { 198, 18 }, 15, PRIVATE, FAKE, .name = "benchmarking, fake-IP DNS" },
        { { 198, 51, 100 }, 24, PRIVATE, .name = "documentation (TEST-NET-2)" },
        { { 203, 0, 113 }, 24, PRIVATE, .name = "documentation (TEST-NET-3)" },
        { { 224 }, 4, NEVER, .name = "multicast" },
        { { 240 }, 4, PRIVATE, .name = "reserved" },
        { { 255, 255, 255, 255 }, 32, NEVER, .name = "broadcast" },
};

/* IANA, "IPv6 Special-Purpose Address Registry". A positive list: outside 2000::/3 nothing is global but 64:ff9b::/96, which networks with
 * DNS64 answer for every host that has IPv4 only. Inside 2001::/23 nothing is, whatever the registry says: no web server lives there. */
static const struct address_range ranges_v6[] = {
        { { 0 }, 0, PRIVATE, .name = "not assigned for public unicast" },
        { { 0 }, 96, NEVER, IPV4(12), .name = "IPv4-compatible (deprecated)" },
        { { 0 }, 128, NEVER, .name = "unspecified (connects to loopback)" },
        { { [15] = 1 }, 128, PRIVATE, .name = "loopback" },
        { { [8] = 0xff, 0xff }, 96, NEVER, IPV4(12), .name = "IPv4-translated (SIIT, RFC 2765)" },
        { { 0, 0x64, 0xff, 0x9b }, 96, GLOBAL, IPV4(12), .name = "NAT64 (RFC 6052)" },
        { { 0, 0x64, 0xff, 0x9b, 0, 1 }, 48, PRIVATE, .name = "NAT64 of local use (RFC 8215)" },
        { { 1 }, 64, PRIVATE, .name = "discard only (RFC 6666)" },
        { { 1, [7] = 1 }, 64, PRIVATE, .name = "dummy prefix (RFC 9780)" },
        { { 0x20 }, 3, GLOBAL, .name = "public unicast" },
        { { 0x20, 0x01 }, 23, PRIVATE, .name = "IETF protocol assignments" },
        { { 0x20, 0x01 }, 32, PRIVATE, IPV4(12), .inverted = true, .name = "Teredo" },
        { { 0x20, 0x01, 0, 1, [15] = 1 }, 128, PRIVATE, .name = "PCP anycast" },
        { { 0x20, 0x01, 0, 1, [15] = 2 }, 128, PRIVATE, .name = "TURN anycast" },
        { { 0x20, 0x01, 0, 1, [15] = 3 }, 128, PRIVATE, .name = "DNS-SD SRP anycast" },
        { { 0x20, 0x01, 0, 2 }, 48, PRIVATE, .name = "benchmarking" },
        { { 0x20, 0x01, 0, 3 }, 32, PRIVATE, .name = "AMT" },
        { { 0x20, 0x01, 0, 4, 0x01, 0x12 }, 48, PRIVATE, .name = "AS112" },
        { { 0x20, 0x01, 0, 0x10 }, 28, PRIVATE, .name = "ORCHID (deprecated)" },
        { { 0x20, 0x01, 0, 0x20 }, 28, PRIVATE, .name = "ORCHIDv2" },
        { { 0x20, 0x01, 0, 0x30 }, 28, PRIVATE, .name = "drone remote ID" },
        { { 0x20, 0x01, 0x0d, 0xb8 }, 32, PRIVATE, .name = "documentation" },
        { { 0x20, 0x02 }, 16, PRIVATE, IPV4(2), .name = "6to4" },
        { { 0x26, 0x20, 0, 0x4f, 0x80 }, 48, GLOBAL, .name = "direct delegation AS112" },
        { { 0x3f, 0xfe }, 16, PRIVATE, .name = "6bone (returned)" },
        { { 0x3f, 0xff }, 20, PRIVATE, .name = "documentation" },
        { { 0x5f }, 16, PRIVATE, .name = "SRv6 segment identifiers (RFC 9602)" },
        { { 0xfc }, 7, PRIVATE, .name = "unique local, cloud metadata" },
        { { 0xfc }, 18, PRIVATE, FAKE, .name = "unique local, fake-IP DNS" },
        { { 0xfd, 0xfe, 0xdc, 0xba, 0x98, 0x76 }, 48, PRIVATE, FAKE, .name = "unique local, fake-IP DNS" },
        { { 0xfe, 0x80 }, 10, NEVER, .name = "link-local, means nothing without a zone" },
        { { 0xfe, 0xc0 }, 10, PRIVATE, .name = "site-local (deprecated)" },
        { { 0xff }, 8, NEVER, .name = "multicast" },
};

static const uint8_t mapped_prefix[12] = { [10] = 0xff, 0xff };

const struct address_range *address_ranges(bool v6, size_t *ret_n) {
        *ret_n = v6 ? sizeof ranges_v6 / sizeof *ranges_v6 : sizeof ranges_v4 / sizeof *ranges_v4;
        return v6 ? ranges_v6 : ranges_v4;
}

struct address address_from_bytes(bool v6, const uint8_t *bytes) {
        struct address a = { .v6 = v6 && memcmp(bytes, mapped_prefix, sizeof mapped_prefix) != 0 };

        if (a.v6)
                memcpy(a.bytes, bytes, 16);
        else
                memcpy(a.bytes, v6 ? bytes + sizeof mapped_prefix : bytes, 4);
        return a;
}

bool address_equal(const struct address *a, const struct address *b) {
        return a->v6 == b->v6 && memcmp(a->bytes, b->bytes, a->v6 ? 16 : 4) == 0;
}

static bool in_prefix(const uint8_t *bytes, const uint8_t *base, unsigned bits) {
        unsigned whole = bits / 8, rest = bits % 8;

        return memcmp(bytes, base, whole) == 0 && (rest == 0 || ((bytes[whole] ^ base[whole]) & (0xff00 >> rest) & 0xff) == 0);
}

static const struct address_range *range_of(const struct address *a) {
        const struct address_range *found = NULL;
        size_t n;
        const struct address_range *rows = address_ranges(a->v6, &n);

        for (size_t i = 0; i < n; i++)
                if (in_prefix(a->bytes, rows[i].base, rows[i].bits))
                        found = &rows[i];
        return found;
}

static bool is_own(const struct address *a, const struct address_host *host) {
        for (size_t i = 0; host && i < host->n_own; i++)
                if (address_equal(a, &host->own[i]))
                        return true;
        return false;
}

static struct address_class classify_alone(const struct address *a, const struct address_host *host) {
        const struct address_range *row = range_of(a);
        struct address_class class = { .verdict = row->verdict, .name = row->name, .fake_ip = row->fake_ip };

        if (class.verdict == ADDRESS_GLOBAL && is_own(a, host)) {
                class.verdict = ADDRESS_PRIVATE;
                class.name = "an address of this host";
        }
        return class;
}

/* The verdict of the IPv4 address counts too: what leads to 169.254.169.254 is no more public than that. Of several ways to read one out of
 * an address the worst counts, since only the network knows which is meant. */
static void add_embedded(struct address_class *class, const struct address_host *host, const uint8_t *ipv4, uint8_t mask) {
        struct address a = { .bytes = { ipv4[0] ^ mask, ipv4[1] ^ mask, ipv4[2] ^ mask, ipv4[3] ^ mask } };
        struct address_class inner = classify_alone(&a, host);

        if (!class->has_embedded || inner.verdict > class->verdict)
                class->embedded = a;
        class->has_embedded = true;
        if (inner.verdict <= class->verdict)
                return;
        class->verdict = inner.verdict;
        class->name = inner.name;
        class->fake_ip = inner.fake_ip;
}

/* RFC 6052, 2.2: the address follows the prefix, and passes over byte 8. */
static bool nat64_extract(const struct address *a, const struct address_prefix *prefix, uint8_t ret_ipv4[4]) {
        unsigned at = prefix->bits / 8;
        bool known = prefix->bits == 96 || (prefix->bits >= 32 && prefix->bits <= 64 && prefix->bits % 8 == 0);

        if (!known || !in_prefix(a->bytes, prefix->base, prefix->bits))
                return false;
        for (unsigned i = 0; i < 4; i++, at++) {
                if (at == 8)
                        at++;
                ret_ipv4[i] = a->bytes[at];
        }
        return true;
}

/* RFC 5214, 6.1: an interface identifier that is an IPv4 address behind 0000:5efe or 0200:5efe, below any prefix. */
static bool is_isatap(const struct address *a) {
        return (a->bytes[8] & ~2) == 0 && a->bytes[9] == 0 && a->bytes[10] == 0x5e && a->bytes[11] == 0xfe;
}

struct address_class address_classify(const struct address *a, const struct address_host *host) {
        const struct address_range *row = range_of(a);
        struct address_class class = classify_alone(a, host);
        uint8_t ipv4[4];

        if (row->embedded)
                add_embedded(&class, host, a->bytes + row->embedded - 1, row->inverted ? 0xff : 0);
        for (size_t i = 0; host && a->v6 && i < host->n_nat64; i++)
                if (nat64_extract(a, &host->nat64[i], ipv4))
                        add_embedded(&class, host, ipv4, 0);
        if (a->v6 && is_isatap(a))
                add_embedded(&class, host, a->bytes + 12, 0);
        return class;
}

/* Not by inet_ntop(3), which takes a microsecond of printf for this. */
static void print_v4(const uint8_t *bytes, char *p) {
        for (int i = 0; i < 4; i++) {
                if (bytes[i] >= 100)
                        *p++ = (char)('0' + bytes[i] / 100);
                if (bytes[i] >= 10)
                        *p++ = (char)('0' + bytes[i] / 10 % 10);
                *p++ = (char)('0' + bytes[i] % 10);
                *p++ = i < 3 ? '.' : '\0';
        }
}

struct address_text address_print(const struct address *a) {
        struct address_text text = { "" };

        if (a->v6)
                inet_ntop(AF_INET6, a->bytes, text.text, sizeof text.text);
        else
                print_v4(a->bytes, text.text);
        return text;
}

struct address_reason address_explain(const struct address_class *class) {
        struct address_text inside = address_print(&class->embedded);
        struct address_reason reason;

        if (class->has_embedded)
                snprintf(reason.text, sizeof reason.text, "%s (%s inside)", class->name, inside.text);
        else
                snprintf(reason.text, sizeof reason.text, "%s", class->name ? class->name : "");
        return reason;
}
