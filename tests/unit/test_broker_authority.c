/* Destinations, and the spellings of them that are refused. */
#include "unit.h"

#include "base/str.h"
#include "broker/authority.h"

struct row {
        const char *text, *host;
        unsigned port;
        enum refusal refusal;
};

static void check(const struct row *rows, size_t n, uint16_t default_port) {
        for (size_t i = 0; i < n; i++) {
                struct authority a = { .host = "untouched" };
                enum refusal refusal = authority_parse(rows[i].text, strlen(rows[i].text), default_port, &a);
                bool good = refusal == rows[i].refusal && streq(a.host, refusal ? "untouched" : rows[i].host) &&
                        (refusal || a.port == rows[i].port);

                if (good)
                        continue;
                print_error("%s: %s port %u, %s (%d)\n", rows[i].text, a.host, a.port, refusal_row(refusal)->text, refusal);
                abort();
        }
}

#define N63 "abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvwxyz0"
#define N189 N63 "." N63 "." N63

static void one_destination_has_one_form(void **state) {
        static const struct row rows[] = {
                { "example.com:443", "example.com", 443 },
                { "EXAMPLE.Com.:65535", "example.com", 65535 },
                { "localhost:1", "localhost", 1 },
                { "xn--bcher-kva.example:443", "xn--bcher-kva.example", 443 },
                { "3com.com:443", "3com.com", 443 },
                { "0x0.st:443", "0x0.st", 443 },
                { "1e100.net:443", "1e100.net", 443 },
                { "1.2.3.4.example:443", "1.2.3.4.example", 443 },
                { "a.0xg:443", "a.0xg", 443 },
                { "a--b.c:443", "a--b.c", 443 },
                { "a.bxab:443", "a.bxab", 443 },
                { "My_Bucket.s3.example:443", "my_bucket.s3.example", 443 },
                { "_a._b_:443", "_a._b_", 443 },
                { "_:443", "_", 443 },
                { "1.2.3._4:443", "1.2.3._4", 443 },
                { "AMZ.Zz:443", "amz.zz", 443 },
                { "127.0.0.1:443", "127.0.0.1", 443 },
                { "127.0.0.1.:443", "127.0.0.1", 443 },
                { "255.255.255.255:443", "255.255.255.255", 443 },
                { "[::1]:443", "::1", 443 },
                { "[2001:DB8:0:0:0:0:0:1]:443", "2001:db8::1", 443 },
                { "[::ffff:127.0.0.1]:443", "127.0.0.1", 443 },
                { "[::FFFF:7f00:1]:443", "127.0.0.1", 443 },
                { "[1:2:3:4:5:6:1.2.3.4]:443", "1:2:3:4:5:6:102:304", 443 },
                { N63 ".example:443", N63 ".example", 443 },
                { N189 "." N63 ":443", NULL, 0, REFUSAL_HOST_NAME },             /* 255 */
                { N189 ".12345678901234567890123456789012345678901234567890123456789.x:443",
                        N189 ".12345678901234567890123456789012345678901234567890123456789.x", 443 }, /* 253 */
        };

        (void)state;
        check(rows, ELEMENTSOF(rows), 0);
}

static const struct row ambiguous[] = {
        { ":443", .refusal = REFUSAL_HOST_EMPTY },
        { "", .refusal = REFUSAL_HOST_EMPTY },
        { ".:443", .refusal = REFUSAL_HOST_NAME },
        { "..:443", .refusal = REFUSAL_HOST_NAME },
        { "a..b:443", .refusal = REFUSAL_HOST_NAME },
        { ".a:443", .refusal = REFUSAL_HOST_NAME },
        { "example.com..:443", .refusal = REFUSAL_HOST_NAME },
        { "-a.example:443", .refusal = REFUSAL_HOST_NAME },
        { "a-.example:443", .refusal = REFUSAL_HOST_NAME },
        { "a.-b:443", .refusal = REFUSAL_HOST_NAME },
        { "_-.example:443", .refusal = REFUSAL_HOST_NAME },
        { "-_.example:443", .refusal = REFUSAL_HOST_NAME },
        { "*.example:443", .refusal = REFUSAL_HOST_NAME },
        { "a/b:443", .refusal = REFUSAL_HOST_NAME },
        { "a\\b:443", .refusal = REFUSAL_HOST_NAME },
        { "a b:443", .refusal = REFUSAL_HOST_NAME },
        { " a:443", .refusal = REFUSAL_HOST_NAME },
        { "a\t:443", .refusal = REFUSAL_HOST_NAME },
        { "a\x7f:443", .refusal = REFUSAL_HOST_NAME },
        { N63 "0.example:443", .refusal = REFUSAL_HOST_NAME },
        { "%65xample.com:443", .refusal = REFUSAL_HOST_ENCODING },
        { "evil.com%00.google.com:443", .refusal = REFUSAL_HOST_ENCODING },
        { "b\xc3\xbc" "cher.example:443", .refusal = REFUSAL_HOST_ENCODING },
        { "example\xe3\x80\x82" "com:443", .refusal = REFUSAL_HOST_ENCODING },
        { "user@example.com:443", .refusal = REFUSAL_USERINFO },
        { "user:pw@example.com:443", .refusal = REFUSAL_USERINFO },
        { "example.com:443@evil", .refusal = REFUSAL_USERINFO },
        { "0x7f.1:443", .refusal = REFUSAL_HOST_NUMBER },
        { "127.1:443", .refusal = REFUSAL_HOST_NUMBER },
        { "2130706433:443", .refusal = REFUSAL_HOST_NUMBER },
        { "0x7f000001:443", .refusal = REFUSAL_HOST_NUMBER },
        { "0X7F000001:443", .refusal = REFUSAL_HOST_NUMBER },
        { "a.0x:443", .refusal = REFUSAL_HOST_NUMBER },
        { "0177.0.0.1:443", .refusal = REFUSAL_HOST_NUMBER },
        { "127.0.0.01:443", .refusal = REFUSAL_HOST_NUMBER },
        { "127.0.0.0x1:443", .refusal = REFUSAL_HOST_NUMBER },
        { "1.2.3.4.5:443", .refusal = REFUSAL_HOST_NUMBER },
        { "1.2.3.256:443", .refusal = REFUSAL_HOST_NUMBER },
        { "1.2.3.1000:443", .refusal = REFUSAL_HOST_NUMBER },
        { "1..2.3:443", .refusal = REFUSAL_HOST_NUMBER },
        { ".1.2.3.4:443", .refusal = REFUSAL_HOST_NUMBER },
        { "example.1:443", .refusal = REFUSAL_HOST_NUMBER },
        { "[example.com]:443", .refusal = REFUSAL_HOST_BRACKETS },
        { "[127.0.0.1]:443", .refusal = REFUSAL_HOST_BRACKETS },
        { "[::1:443", .refusal = REFUSAL_HOST_BRACKETS },
        { "[[::1]]:443", .refusal = REFUSAL_HOST_BRACKETS },
        { "[]:443", .refusal = REFUSAL_HOST_BRACKETS },
        { "[", .refusal = REFUSAL_HOST_BRACKETS },
        { "[::1]a:443", .refusal = REFUSAL_HOST_BRACKETS },
        { "a[::1]", .refusal = REFUSAL_HOST_BRACKETS },
        { "[::01.2.3.4]:443", .refusal = REFUSAL_HOST_BRACKETS },
        { "[:::]:443", .refusal = REFUSAL_HOST_BRACKETS },
        { "[00000::1]:443", .refusal = REFUSAL_HOST_BRACKETS },
        { "[1:2:3:4:5:6:7]:443", .refusal = REFUSAL_HOST_BRACKETS },
        { "[1111:2222:3333:4444:5555:6666:255.255.255.2555555]:443", .refusal = REFUSAL_HOST_BRACKETS },
        { "[1111:2222:3333:4444:5555:6666:255.255.255.2555]", .refusal = REFUSAL_HOST_BRACKETS }, /* 46 bytes inside */
        { "[1111:2222:3333:4444:5555:6666:255.255.255.25555]", .refusal = REFUSAL_HOST_BRACKETS },
        { "[v1.a]:443", .refusal = REFUSAL_HOST_BRACKETS },
        { "[fe80::1%25eth0]:443", .refusal = REFUSAL_HOST_ZONE },
        { "[fe80::1%eth0]:443", .refusal = REFUSAL_HOST_ZONE },
        { "::1", .refusal = REFUSAL_HOST_EMPTY },
};

static void what_could_be_read_in_two_ways_is_refused(void **state) {
        (void)state;
        check(ambiguous, ELEMENTSOF(ambiguous), 443);
}

static void a_port_is_one_to_five_digits(void **state) {
        static const struct row rows[] = {
                { "a:", .refusal = REFUSAL_PORT },      { "a:0", .refusal = REFUSAL_PORT },      { "a:65536", .refusal = REFUSAL_PORT },
                { "a:0443", .refusal = REFUSAL_PORT },  { "a:+443", .refusal = REFUSAL_PORT },   { "a:-1", .refusal = REFUSAL_PORT },
                { "a:0x50", .refusal = REFUSAL_PORT },  { "a:100000", .refusal = REFUSAL_PORT }, { "a: 80", .refusal = REFUSAL_PORT },
                { "a:80 ", .refusal = REFUSAL_PORT },   { "a:80:80", .refusal = REFUSAL_PORT },  { "a:4x", .refusal = REFUSAL_PORT },
                { "[::1]:", .refusal = REFUSAL_PORT },  { "a:1", "a", 1 },                       { "a:65535", "a", 65535 },
                { "a:443/", .refusal = REFUSAL_PORT },  { "a:4294967376", .refusal = REFUSAL_PORT },
                { "2001:db8::1", .refusal = REFUSAL_HOST_NUMBER },
        };
        static const struct row without[] = { { "a", .refusal = REFUSAL_PORT }, { "[::1]", .refusal = REFUSAL_PORT } };
        static const struct row given[] = { { "a", "a", 80 }, { "[::1]", "::1", 80 }, { "a:81", "a", 81 }, { "a.", "a", 80 } };

        (void)state;
        check(rows, ELEMENTSOF(rows), 80);
        check(without, ELEMENTSOF(without), 0);
        check(given, ELEMENTSOF(given), 80);
}

static void a_host_alone_is_no_more_lenient(void **state) {
        static const struct { const char *text; enum refusal refusal; } rows[] = {
                { "a", REFUSAL_NONE },                { "a:80", REFUSAL_HOST_NAME },        { "user@a", REFUSAL_USERINFO },
                { "[::1]", REFUSAL_NONE },            { "[::1x", REFUSAL_HOST_BRACKETS },   { "[::1", REFUSAL_HOST_BRACKETS },
                { "[::1]:80", REFUSAL_HOST_BRACKETS }, { "::1", REFUSAL_HOST_NAME },        { "", REFUSAL_HOST_EMPTY },
        };

        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                struct authority a;
                enum refusal refusal = authority_parse_host(rows[i].text, strlen(rows[i].text), &a);

                if (refusal == rows[i].refusal)
                        continue;
                print_error("%s: %s\n", rows[i].text, refusal_row(refusal)->text);
                abort();
        }
}

static void a_nul_hides_nothing(void **state) {
        static const char text[] = "attacker.example\0.allowed.example:443", inside[] = "a:4\0";
        struct authority a;

        (void)state;
        assert_int_equal(authority_parse(text, sizeof text - 1, 0, &a), REFUSAL_HOST_NAME);
        assert_int_equal(authority_parse(inside, sizeof inside - 1, 0, &a), REFUSAL_PORT);
}

static void the_text_has_brackets_and_a_port_where_they_belong(void **state) {
        static const struct { const char *text, *with, *without; } rows[] = {
                { "Example.COM.:80", "example.com:80", "example.com" }, { "[::1]:80", "[::1]:80", "[::1]" },
                { "1.2.3.4:80", "1.2.3.4:80", "1.2.3.4" },              { "[::ffff:1.2.3.4]:80", "1.2.3.4:80", "1.2.3.4" },
        };
        struct authority a, b;

        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                assert_int_equal(authority_parse(rows[i].text, strlen(rows[i].text), 0, &a), REFUSAL_NONE);
                assert_string_equal(authority_print(&a, 0).text, rows[i].with);
                assert_string_equal(authority_print(&a, 80).text, rows[i].without);
                assert_string_equal(authority_print(&a, 443).text, rows[i].with);
        }
        assert_int_equal(authority_parse_host("1.2.3.4", 7, &b), REFUSAL_NONE);
        assert_true(authority_equal_host(&a, &b) && b.kind == HOST_ADDRESS && b.port == 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(one_destination_has_one_form),
                cmocka_unit_test(what_could_be_read_in_two_ways_is_refused),
                cmocka_unit_test(a_port_is_one_to_five_digits),
                cmocka_unit_test(a_host_alone_is_no_more_lenient),
                cmocka_unit_test(a_nul_hides_nothing),
                cmocka_unit_test(the_text_has_brackets_and_a_port_where_they_belong),
        };

        return RUN_TESTS(tests);
}
