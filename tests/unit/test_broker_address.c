/* Which addresses are public. The table is written down once more, as text, so that a row which is lost or mistyped is missed. */
#include "unit.h"

#include "base/str.h"
#include "broker/address.h"

#include <arpa/inet.h>

static struct address from_text(const char *text) {
        bool v6 = strchr(text, ':');
        uint8_t bytes[16] = { 0 };

        if (inet_pton(v6 ? AF_INET6 : AF_INET, text, bytes) != 1) {
                print_error("%s is no address\n", text);
                abort();
        }
        return address_from_bytes(v6, bytes);
}

enum { G = ADDRESS_GLOBAL, P = ADDRESS_PRIVATE, N = ADDRESS_NEVER };

/* lower and upper: what one below and one above the block are; -1 where there is no such address. */
static const struct row {
        const char *first, *last;
        int verdict, lower, upper;
        bool fake;
} rows_v4[] = {
        { "0.0.0.0", "255.255.255.255", N, -1, -1 }, /* the whole space; its ends are never destinations */
        { "0.0.0.0", "0.255.255.255", N, -1, G },
        { "10.0.0.0", "10.255.255.255", P, G, G },
        { "100.64.0.0", "100.127.255.255", P, G, G },
        { "127.0.0.0", "127.255.255.255", P, G, G },
        { "168.63.129.16", "168.63.129.16", P, G, G },
        { "169.254.0.0", "169.254.255.255", P, G, G },
        { "172.16.0.0", "172.31.255.255", P, G, G },
        { "192.0.0.0", "192.0.0.255", P, G, G },
        { "192.0.2.0", "192.0.2.255", P, G, G },
        { "192.31.196.0", "192.31.196.255", G, G, G },
        { "192.52.193.0", "192.52.193.255", G, G, G },
        { "192.88.99.0", "192.88.99.255", P, G, G },
        { "192.168.0.0", "192.168.255.255", P, G, G },
        { "192.175.48.0", "192.175.48.255", G, G, G },
        { "198.18.0.0", "198.19.255.255", P, G, G, true },
        { "198.51.100.0", "198.51.100.255", P, G, G },
        { "203.0.113.0", "203.0.113.255", P, G, G },
        { "224.0.0.0", "239.255.255.255", N, G, P },
        { "240.0.0.0", "255.255.255.254", P, N, N },
        { "255.255.255.255", "255.255.255.255", N, P, -1 },
}, rows_v6[] = {
        { "::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", N, -1, -1 }, /* the whole space */
        { "::2", "::ffff:ffff", N, P, P },
        { "::", "::", N, -1, P },
        { "::1", "::1", P, N, N },
        { "::ffff:0:0:0", "::ffff:0:ffff:ffff", N, P, P },
        { "64:ff9b::", "64:ff9b::ffff:ffff", N, P, P }, /* both ends embed an IPv4 address that is never a destination */
        { "64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff", P, P, P },
        { "100::", "100::ffff:ffff:ffff:ffff", P, P, P },
        { "100:0:0:1::", "100:0:0:1:ffff:ffff:ffff:ffff", P, P, P },
        { "2000::", "3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", G, P, P },
        { "2001:1::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff", P, N, G }, /* the block begins with the next one */
        { "2001::", "2001:0:ffff:ffff:ffff:ffff:ffff:ffff", N, G, P }, /* its ends embed 255.255.255.255 and 0.0.0.0 */
        { "2001:1::1", "2001:1::1", P, P, P },
        { "2001:1::2", "2001:1::2", P, P, P },
        { "2001:1::3", "2001:1::3", P, P, P },
        { "2001:2::", "2001:2:0:ffff:ffff:ffff:ffff:ffff", P, P, P },
        { "2001:3::", "2001:3:ffff:ffff:ffff:ffff:ffff:ffff", P, P, P },
        { "2001:4:112::", "2001:4:112:ffff:ffff:ffff:ffff:ffff", P, P, P },
        { "2001:10::", "2001:1f:ffff:ffff:ffff:ffff:ffff:ffff", P, P, P },
        { "2001:20::", "2001:2f:ffff:ffff:ffff:ffff:ffff:ffff", P, P, P },
        { "2001:30::", "2001:3f:ffff:ffff:ffff:ffff:ffff:ffff", P, P, P },
        { "2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", P, G, G },
        { "2002::", "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff", N, G, G }, /* embeds 0.0.0.0 and 255.255.255.255 */
        { "2620:4f:8000::", "2620:4f:8000:ffff:ffff:ffff:ffff:ffff", G, G, G },
        { "3ffe::", "3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff", P, G, P },
        { "3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff", P, P, G },
        { "5f00::", "5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff", P, P, P },
        { "fc00:4000::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", P, P, P }, /* the block begins with the next one */
        { "fc00::", "fc00:3fff:ffff:ffff:ffff:ffff:ffff:ffff", P, P, P, true },
        { "fdfe:dcba:9876::", "fdfe:dcba:9876:ffff:ffff:ffff:ffff:ffff", P, P, P, true },
        { "fe80::", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff", N, P, P },
        { "fec0::", "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", P, N, N },
        { "ff00::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", N, P, -1 },
};

static struct address neighbour(struct address a, int step) {
        for (int i = a.v6 ? 15 : 3; i >= 0; i--) {
                a.bytes[i] = (uint8_t)(a.bytes[i] + step);
                if (a.bytes[i] != (step > 0 ? 0 : 0xff))
                        break;
        }
        return a;
}

static void expect(struct address a, int verdict, const char *what, const char *row) {
        struct address_class class = address_classify(&a, NULL);

        if (verdict < 0 || (int)class.verdict == verdict)
                return;
        print_error("%s of %s, %s: %d (%s), expected %d\n", what, row, address_print(&a).text, class.verdict, class.name, verdict);
        abort();
}

/* Blocks beside each other that are treated alike are still told apart by their reason. */
static void expect_block(struct address first, struct address last, const char *row) {
        struct address below = neighbour(first, -1), above = neighbour(last, 1);
        struct address_class a = address_classify(&first, NULL), b = address_classify(&last, NULL);

        if ((a.has_embedded || streq(a.name, b.name)) && !streq(a.name, address_classify(&below, NULL).name) &&
            !streq(b.name, address_classify(&above, NULL).name))
                return;
        print_error("%s: its first is '%s', its last '%s', and so is a neighbour\n", row, a.name, b.name);
        abort();
}

static void check_rows(const struct row *rows, size_t n) {
        for (size_t i = 0; i < n; i++) {
                struct address first = from_text(rows[i].first), last = from_text(rows[i].last);

                expect(first, rows[i].verdict, "the first", rows[i].first);
                expect(last, rows[i].verdict, "the last", rows[i].first);
                expect(neighbour(first, -1), rows[i].lower, "one below the first", rows[i].first);
                expect(neighbour(last, 1), rows[i].upper, "one above the last", rows[i].first);
                if (i > 0)
                        expect_block(first, last, rows[i].first);
                if (rows[i].fake && !(address_classify(&first, NULL).fake_ip && address_classify(&last, NULL).fake_ip)) {
                        print_error("%s: no hint of fake addresses\n", rows[i].first);
                        abort();
                }
        }
}

static void every_block_ends_where_its_registry_says(void **state) {
        size_t n;

        (void)state;
        check_rows(rows_v4, ELEMENTSOF(rows_v4));
        check_rows(rows_v6, ELEMENTSOF(rows_v6));
        address_ranges(false, &n);
        assert_int_equal(n, ELEMENTSOF(rows_v4));
        address_ranges(true, &n);
        assert_int_equal(n, ELEMENTSOF(rows_v6));
}

static void the_tables_are_sorted_and_their_bases_end_with_the_prefix(void **state) {
        (void)state;
        for (int v6 = 0; v6 <= 1; v6++) {
                size_t n;
                const struct address_range *rows = address_ranges(v6, &n);

                for (size_t i = 0; i < n; i++) {
                        int order = i ? memcmp(rows[i - 1].base, rows[i].base, 16) : -1;

                        assert_true(order < 0 || (order == 0 && rows[i - 1].bits < rows[i].bits));
                        for (unsigned bit = rows[i].bits; bit < 128; bit++)
                                assert_int_equal(rows[i].base[bit / 8] >> (7 - bit % 8) & 1, 0);
                }
        }
}

static void an_address_is_no_better_than_the_one_in_it(void **state) {
        static const struct { const char *text; int verdict; const char *embedded; } rows[] = {
                { "64:ff9b::8.8.8.8", G, "8.8.8.8" },          { "64:ff9b::a9fe:a9fe", P, "169.254.169.254" },
                { "64:ff9b::7f00:1", P, "127.0.0.1" },         { "64:ff9b::e000:1", N, "224.0.0.1" },
                { "64:ff9b::10.1.2.3", P, "10.1.2.3" },        { "64:ff9b:0:0:0:1::", P, NULL },
                { "2002:808:808::1", P, "8.8.8.8" },           { "2002:7f00:1::", P, "127.0.0.1" },
                { "2002:808:808::5efe:e000:1", N, "224.0.0.1" },
                { "2002:e000:1::", N, "224.0.0.1" },           { "2001:0:4136:e378:8000:63bf:3fff:fdd2", P, "192.0.2.45" },
                { "2001::f7f7:f7f7", P, "8.8.8.8" },           { "::8.8.8.8", N, "8.8.8.8" },
                { "::7f00:1", N, "127.0.0.1" },                { "::ffff:0:7f00:1", N, "127.0.0.1" },
                { "::ffff:0:808:808", N, "8.8.8.8" },          { "2a00::5efe:7f00:1", P, "127.0.0.1" },
                { "2a00::200:5efe:a00:1", P, "10.0.0.1" },     { "2a00::5efe:808:808", G, "8.8.8.8" },
                { "2a00::200:5efe:e000:1", N, "224.0.0.1" },   { "2a00::100:5efe:7f00:1", G, NULL },
                { "fe80::5efe:808:808", N, "8.8.8.8" },        { "fd00:ec2::254", P, NULL },
                { "2606:4700:4700::1111", G, NULL },           { "4000::1", P, NULL },
                { "ff02::1", N, NULL },                        { "192.88.99.2", P, NULL },
                { "192.0.0.9", P, NULL },                      { "192.0.0.10", P, NULL },
                { "192.0.0.192", P, NULL },                    { "100.100.100.200", P, NULL },
                { "233.252.0.1", N, NULL },                    { "8.8.8.8", G, NULL },
        };

        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                struct address a = from_text(rows[i].text);
                struct address_class class = address_classify(&a, NULL);

                expect(a, rows[i].verdict, rows[i].text, "the list");
                if (class.has_embedded != !!rows[i].embedded ||
                    (rows[i].embedded && !streq(address_print(&class.embedded).text, rows[i].embedded))) {
                        print_error("%s: %s\n", rows[i].text, class.has_embedded ? address_print(&class.embedded).text : "nothing in it");
                        abort();
                }
        }
}

static void a_mapped_address_is_the_ipv4_address(void **state) {
        struct address a = from_text("::ffff:127.0.0.1"), b = from_text("127.0.0.1"), c = from_text("::fffe:127.0.0.1");

        (void)state;
        assert_false(a.v6);
        assert_true(address_equal(&a, &b));
        assert_string_equal(address_print(&a).text, "127.0.0.1");
        assert_true(c.v6);
        assert_int_equal(address_classify(&a, NULL).verdict, ADDRESS_PRIVATE);
        a = from_text("::ffff:8.8.8.8");
        assert_int_equal(address_classify(&a, NULL).verdict, ADDRESS_GLOBAL);
}

static void a_public_address_of_this_host_is_private(void **state) {
        const struct address own[] = { from_text("9.9.9.9"), from_text("2620:fe::fe"), from_text("::ffff:5.6.7.8") };
        const struct address_host host = { .own = own, .n_own = ELEMENTSOF(own) };
        static const struct { const char *text; int verdict; } rows[] = {
                { "9.9.9.9", P }, { "::ffff:9.9.9.9", P }, { "2620:fe::fe", P }, { "5.6.7.8", P }, { "64:ff9b::9.9.9.9", P },
                { "9.9.9.10", G }, { "2620:fe::9", G }, { "64:ff9b::9.9.9.8", G }, { "224.0.0.1", N },
        };

        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                struct address a = from_text(rows[i].text);

                assert_int_equal(address_classify(&a, &host).verdict, rows[i].verdict);
        }
}

/* RFC 6052, 2.4: 192.0.2.33 in each of the lengths, here with 127.0.0.1 and 8.8.8.8. */
static void the_operators_nat64_is_looked_into(void **state) {
        static const struct { const char *base; unsigned bits; const char *loopback, *public; } rows[] = {
                { "2a00:db8::", 32, "2a00:db8:7f00:1::", "2a00:db8:808:808::" },
                { "2a00:db8:100::", 40, "2a00:db8:17f:0:1::", "2a00:db8:108:808:8::" },
                { "2a00:db8:122::", 48, "2a00:db8:122:7f00:0:100::", "2a00:db8:122:808:8:800::" },
                { "2a00:db8:122:300::", 56, "2a00:db8:122:37f:0:1::", "2a00:db8:122:308:8:808::" },
                { "2a00:db8:122:344::", 64, "2a00:db8:122:344:7f:0:100:0", "2a00:db8:122:344:8:808:800:0" },
                { "2a00:db8:122:344::", 96, "2a00:db8:122:344::7f00:1", "2a00:db8:122:344::808:808" },
        };

        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                struct address base = from_text(rows[i].base), loopback = from_text(rows[i].loopback), public = from_text(rows[i].public);
                struct address_prefix prefix = { .bits = (uint8_t)rows[i].bits };
                struct address_host host = { .nat64 = &prefix, .n_nat64 = 1 };
                struct address_class class;

                memcpy(prefix.base, base.bytes, 16);
                class = address_classify(&loopback, &host);
                if (class.verdict != ADDRESS_PRIVATE || !streq(address_print(&class.embedded).text, "127.0.0.1")) {
                        print_error("%s/%u: %s\n", rows[i].base, rows[i].bits, address_print(&class.embedded).text);
                        abort();
                }
                class = address_classify(&public, &host);
                assert_int_equal(class.verdict, ADDRESS_GLOBAL);
                assert_string_equal(address_print(&class.embedded).text, "8.8.8.8");
                assert_int_equal(address_classify(&loopback, NULL).verdict, ADDRESS_GLOBAL);
                prefix.bits = 72; /* none of RFC 6052's */
                assert_int_equal(address_classify(&loopback, &host).verdict, ADDRESS_GLOBAL);
        }
}

/* An address that is ISATAP's as well as the operator's NAT64's is as bad as the worse of the two. */
static void of_two_readings_the_worse_counts(void **state) {
        static const struct { const char *text, *embedded; int verdict; } rows[] = {
                { "2a00:db8:808:808:0:5efe:808:808", "8.8.8.8", G },
                { "2a00:db8:808:808:0:5efe:101:101", "8.8.8.8", G },
                { "2a00:db8:808:808:0:5efe:7f00:1", "127.0.0.1", P },
                { "2a00:db8:a00:1:0:5efe:808:808", "10.0.0.1", P },
                { "2a00:db8:a00:1:0:5efe:e000:1", "224.0.0.1", N },
                { "2a00:db8:808:808:0:5efe:909:909", "9.9.9.9", P },
        };
        const struct address own = from_text("9.9.9.9"), outside = from_text("2a00:db9:7f00:1::"), six_to_four = from_text("2002:7f00:1::");
        struct address_prefix prefix = { .base = { 0x2a, 0, 0x0d, 0xb8 }, .bits = 32 };
        struct address_host host = { .own = &own, .n_own = 1, .nat64 = &prefix, .n_nat64 = 1 };

        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                struct address a = from_text(rows[i].text);
                struct address_class class = address_classify(&a, &host);

                if ((int)class.verdict == rows[i].verdict && streq(address_print(&class.embedded).text, rows[i].embedded))
                        continue;
                print_error("%s: %d, %s\n", rows[i].text, class.verdict, address_print(&class.embedded).text);
                abort();
        }
        assert_false(address_classify(&outside, &host).has_embedded);
        assert_string_equal(address_classify(&six_to_four, &host).name, "6to4");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(every_block_ends_where_its_registry_says),
                cmocka_unit_test(the_tables_are_sorted_and_their_bases_end_with_the_prefix),
                cmocka_unit_test(an_address_is_no_better_than_the_one_in_it),
                cmocka_unit_test(a_mapped_address_is_the_ipv4_address),
                cmocka_unit_test(a_public_address_of_this_host_is_private),
                cmocka_unit_test(the_operators_nat64_is_looked_into),
                cmocka_unit_test(of_two_readings_the_worse_counts),
        };

        return RUN_TESTS(tests);
}
