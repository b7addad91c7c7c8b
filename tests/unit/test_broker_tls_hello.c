/* ClientHello: cut into records and segments in every way, and what hides in it. */
#include "tls_records.h"

#include "broker/tls_hello.h"

static struct authority host_of(const char *text) {
        struct authority a;

        if (authority_parse(text, strlen(text), 443, &a)) {
                print_error("%s\n", text);
                abort();
        }
        return a;
}

static void put_extension(struct str *out, unsigned type, const char *data, size_t n) {
        put16(out, type);
        put16(out, n);
        str_add(out, data, n);
}

static void put_name(struct str *out, const char *name, size_t n) {
        put16(out, 0);
        put16(out, n + 5);
        put16(out, n + 3);
        str_putc(out, 0);
        put16(out, n);
        str_add(out, name, n);
}

/* A message with its header of four bytes: a ClientHello with these extensions, or without any where EXTENSIONS is NULL. */
static void put_hello(struct str *out, const struct str *extensions) {
        _cleanup_str_ struct str body = { 0 };

        str_add(&body, "\3\3", 2);
        for (int i = 0; i < 32; i++)
                str_putc(&body, 'R');
        str_add(&body, "\4SESS\0\4\x0a\x0a\x13\1\1\0", 13); /* session, two suites (one of them GREASE), no compression */
        if (extensions) {
                put16(&body, extensions->size);
                str_add(&body, extensions->text, extensions->size);
        }
        str_putc(out, 1);
        str_putc(out, 0);
        put16(out, body.size);
        str_add(out, body.text, body.size);
}

/* A whole hello for NAME in one record. */
static void put_simple(struct str *out, const char *name) {
        _cleanup_str_ struct str extensions = { 0 }, hello = { 0 };

        if (name)
                put_name(&extensions, name, strlen(name));
        put_extension(&extensions, 0x2b, "\2\3\4", 3);
        put_hello(&hello, &extensions);
        put_records(out, hello.text, hello.size, TLS_RECORD_MAX);
}

static size_t feed(struct tls_hello *hello, const struct str *s, size_t piece) {
        size_t at = 0, used;

        while (at < s->size && hello->status == TLS_MORE) {
                tls_hello_feed(hello, (const uint8_t *)s->text + at, s->size - at < piece ? s->size - at : piece, &used);
                at += used;
        }
        return at;
}

/* FIRST is NULL for a first hello. USED counts only for TLS_DONE. */
static void check_after(const struct tls_hello *first, const struct str *s, const char *authority, bool ech, enum tls_status status,
        enum refusal refusal, size_t used) {
        static const size_t pieces[] = { 1, 2, 3, 5, 1460, SIZE_MAX };
        const struct authority a = host_of(authority);

        for (size_t i = 0; i < ELEMENTSOF(pieces); i++) {
                _cleanup_tls_hello_ struct tls_hello hello;
                size_t got;

                if (first)
                        tls_hello_begin_second(&hello, first);
                else
                        tls_hello_begin(&hello, &a, ech);
                got = feed(&hello, s, pieces[i]);
                if (hello.status == status && hello.refusal == refusal && (status != TLS_DONE || got == used))
                        continue;
                print_error("%s, pieces of %zu: status %d, refusal %s, %zu of %zu used\n", authority, pieces[i], hello.status,
                        refusal_row(hello.refusal)->code, got, s->size);
                abort();
        }
}

static void check(const struct str *s, const char *authority, enum refusal refusal) {
        check_after(NULL, s, authority, false, refusal ? TLS_REFUSED : TLS_DONE, refusal, s->size);
}

static void check_simple(const char *name, const char *authority, enum refusal refusal) {
        _cleanup_str_ struct str s = { 0 };

        put_simple(&s, name);
        check(&s, authority, refusal);
}

static void the_name_is_the_host_that_was_asked_for(void **state) {
        (void)state;
        check_simple("example.com", "example.com", REFUSAL_NONE);
        check_simple("EXAMPLE.com", "example.com", REFUSAL_NONE);
        check_simple("example.com", "Example.com.:8443", REFUSAL_NONE);
        check_simple("evil.example", "example.com", REFUSAL_TLS_NAME_DIFFERS);
        check_simple("www.example.com", "example.com", REFUSAL_TLS_NAME_DIFFERS);
        check_simple("xexample.com", "example.com", REFUSAL_TLS_NAME_DIFFERS);
        check_simple(NULL, "example.com", REFUSAL_TLS_NO_NAME);
        check_simple("example.com.", "example.com", REFUSAL_TLS_NAME);
        check_simple("example.com%00", "example.com", REFUSAL_TLS_NAME);
        check_simple("exa_mple.com", "example.com", REFUSAL_TLS_NAME_DIFFERS);
        check_simple("exa_mple.com", "exa_mple.com", REFUSAL_NONE);
        check_simple("exa mple.com", "example.com", REFUSAL_TLS_NAME);
        check_simple("127.0.0.1", "example.com", REFUSAL_TLS_NAME);
        check_simple("[::1]", "example.com", REFUSAL_TLS_NAME);
        check_simple("", "example.com", REFUSAL_TLS_NAME);
}

static void an_address_needs_no_name_or_its_own_text(void **state) {
        (void)state;
        check_simple(NULL, "192.0.2.1", REFUSAL_NONE);
        check_simple(NULL, "[2001:db8::1]", REFUSAL_NONE);
        check_simple("192.0.2.1", "192.0.2.1", REFUSAL_NONE);
        check_simple("2001:db8::1", "[2001:DB8::1]", REFUSAL_NONE);
        check_simple("", "192.0.2.1", REFUSAL_TLS_NAME);
        check_simple("192.0.2.2", "192.0.2.1", REFUSAL_TLS_NAME_DIFFERS);
        check_simple("192.0.2.10", "192.0.2.1", REFUSAL_TLS_NAME_DIFFERS);
        check_simple("example.com", "192.0.2.1", REFUSAL_TLS_NAME_DIFFERS);
}

static void a_server_name_list_has_one_name(void **state) {
        static const struct { const char *data; size_t n; enum refusal refusal; } rows[] = {
                { "\0\4\0\0\1a", 6, REFUSAL_NONE },
                { "", 0, REFUSAL_TLS_NAME },
                { "\0", 1, REFUSAL_TLS_NAME },
                { "\0\0", 2, REFUSAL_TLS_NAME },
                { "\0\10\0\0\1a\0\0\1a", 10, REFUSAL_TLS_NAME },
                { "\0\10\0\0\1a\0\0\1b", 10, REFUSAL_TLS_NAME },
                { "\0\4\1\0\1a", 6, REFUSAL_TLS_NAME },
                { "\0\3\0\0\0", 5, REFUSAL_TLS_NAME },
                { "\0\4\0\0\2a", 6, REFUSAL_TLS_NAME },
                { "\0\5\0\0\1a", 6, REFUSAL_TLS_NAME },
                { "\0\3\0\0\1a", 6, REFUSAL_TLS_NAME },
                { "\0\4\0\0\1a\0", 7, REFUSAL_TLS_NAME },
                { "\0\5\0\0\2a\0", 7, REFUSAL_TLS_NAME },
                { "\0\5\0\0\2a\n", 7, REFUSAL_TLS_NAME },
        };
        char long_name[256];

        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_str_ struct str extensions = { 0 }, hello = { 0 }, s = { 0 };

                put_extension(&extensions, 0, rows[i].data, rows[i].n);
                put_hello(&hello, &extensions);
                put_records(&s, hello.text, hello.size, TLS_RECORD_MAX);
                check(&s, "a", rows[i].refusal);
        }
        memset(long_name, 'a', sizeof long_name);
        for (size_t n = 255; n <= 256; n++) {
                _cleanup_str_ struct str extensions = { 0 }, hello = { 0 }, s = { 0 };

                put_name(&extensions, long_name, n);
                put_hello(&hello, &extensions);
                put_records(&s, hello.text, hello.size, TLS_RECORD_MAX);
                check(&s, "a", REFUSAL_TLS_NAME);
        }
}

static void however_it_is_cut_it_is_one_hello(void **state) {
        static const size_t sizes[] = { 4, 5, 10, 40, 511 };
        _cleanup_str_ struct str extensions = { 0 }, hello = { 0 }, big = { 0 }, small = { 0 }, bare = { 0 }, s = { 0 };
        char key_share[1500] = { 0 };

        (void)state;
        put_name(&extensions, "a", 1);
        put_hello(&hello, &extensions);
        for (size_t i = 0; i < ELEMENTSOF(sizes); i++) {
                s.size = 0;
                put_records(&s, hello.text, hello.size, sizes[i]);
                check(&s, "a", REFUSAL_NONE);
                check(&s, "b", REFUSAL_TLS_NAME_DIFFERS);
        }

        /* One byte a record, of the shortest hello there is: no extension at all, for an address. */
        put_hello(&bare, NULL);
        s.size = 0;
        put_records(&s, bare.text, bare.size, 1);
        assert_int_equal(bare.size, 51);
        check(&s, "192.0.2.1", REFUSAL_NONE);
        check(&s, "a", REFUSAL_TLS_NO_NAME);

        /* The name behind a post-quantum key share, beyond the first segment. */
        put_extension(&big, 0x33, key_share, sizeof key_share);
        put_name(&big, "a", 1);
        put_hello(&small, &big);
        s.size = 0;
        put_records(&s, small.text, small.size, TLS_RECORD_MAX);
        check(&s, "a", REFUSAL_NONE);
        check(&s, "b", REFUSAL_TLS_NAME_DIFFERS);
        s.size = 0;
        put_records(&s, small.text, small.size, 511);
        check(&s, "a", REFUSAL_NONE);

}

/* More records than anyone needs: exactly as many as are allowed, and one more. */
static void records_are_counted(void **state) {
        static const char zeros[1000] = { 0 };

        (void)state;
        for (unsigned extra = 0; extra <= 1; extra++) {
                size_t size = 10 * TLS_RECORDS_MAX + extra, fixed = 51 + 2 + 10 + 4;
                _cleanup_str_ struct str extensions = { 0 }, hello = { 0 }, s = { 0 };

                put_name(&extensions, "a", 1);
                put_extension(&extensions, 21, zeros, size - fixed);
                put_hello(&hello, &extensions);
                assert_int_equal(hello.size, size);
                put_records(&s, hello.text, hello.size, 10);
                check(&s, "a", extra ? REFUSAL_TLS_SIZE : REFUSAL_NONE);
        }
}

static void what_is_no_client_hello_is_refused_at_its_first_wrong_byte(void **state) {
        static const struct { const char *data; size_t n; enum refusal refusal; } rows[] = {
                { "G", 1, REFUSAL_NOT_TLS },                             /* HTTP */
                { "SSH-2.0-x", 9, REFUSAL_NOT_TLS },
                { "\5\1\0", 3, REFUSAL_NOT_TLS },                        /* SOCKS */
                { "\x80\x2e\1\3\1", 5, REFUSAL_NOT_TLS },                /* SSL 2 */
                { "\0", 1, REFUSAL_NOT_TLS },
                { "\x16\2", 2, REFUSAL_NOT_TLS },
                { "\x16\xfe", 2, REFUSAL_NOT_TLS },                      /* DTLS */
                { "\x16\3\0", 3, REFUSAL_TLS_RECORD },                   /* SSL 3 */
                { "\x16\3\4", 3, REFUSAL_TLS_RECORD },
                { "\x15", 1, REFUSAL_TLS_RECORD },                       /* alert */
                { "\x14", 1, REFUSAL_TLS_RECORD },                       /* change_cipher_spec */
                { "\x17", 1, REFUSAL_TLS_RECORD },                       /* application data */
                { "\x16\3\1\0\0", 5, REFUSAL_TLS_RECORD },               /* an empty record */
                { "\x16\3\1\x40\1", 5, REFUSAL_TLS_RECORD },             /* 16385 bytes */
                { "\x16\3\1\0\5\2", 6, REFUSAL_TLS_MESSAGE },            /* a ServerHello */
        };

        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                const struct str s = { (char *)rows[i].data, rows[i].n, 0 };

                check(&s, "a", rows[i].refusal);
        }
}

static void sizes_are_exact(void **state) {
        static const char zeros[TLS_MESSAGE_MAX] = { 0 };

        (void)state;
        for (size_t extra = 0; extra <= 1; extra++) {
                _cleanup_str_ struct str extensions = { 0 }, hello = { 0 }, s = { 0 };
                size_t fixed = 51 + 2 + 10 + 4; /* hello, length, name, padding's header */

                put_name(&extensions, "a", 1);
                put_extension(&extensions, 21, zeros, TLS_MESSAGE_MAX - fixed + extra);
                put_hello(&hello, &extensions);
                assert_int_equal(hello.size, TLS_MESSAGE_MAX + extra);
                put_records(&s, hello.text, hello.size, TLS_RECORD_MAX);
                check(&s, "a", extra ? REFUSAL_TLS_SIZE : REFUSAL_NONE);
        }
}

static void other_records_do_not_come_between(void **state) {
        static const char *const between[] = { "\x15\3\3\0\2\1\0", "\x14\3\3\0\1\1", "\x17\3\3\0\1x", "\x16\3\3\0\0" };
        static const size_t sizes[] = { 7, 6, 6, 5 };
        _cleanup_str_ struct str extensions = { 0 }, hello = { 0 };

        (void)state;
        put_name(&extensions, "a", 1);
        put_hello(&hello, &extensions);
        for (size_t i = 0; i < ELEMENTSOF(between); i++) {
                _cleanup_str_ struct str s = { 0 };

                put_records(&s, hello.text, 20, 20);
                str_add(&s, between[i], sizes[i]);
                put_records(&s, hello.text + 20, hello.size - 20, TLS_RECORD_MAX);
                check(&s, "a", REFUSAL_TLS_RECORD);
        }
}

static void what_follows_the_hello_is_left_but_not_in_its_record(void **state) {
        _cleanup_str_ struct str s = { 0 }, extensions = { 0 }, two = { 0 }, record = { 0 };
        size_t hello;

        (void)state;
        put_simple(&s, "a");
        hello = s.size;
        str_add(&s, "\x17\3\3\0\1x", 6);
        check_after(NULL, &s, "a", false, TLS_DONE, REFUSAL_NONE, hello);

        put_name(&extensions, "a", 1);
        put_hello(&two, &extensions);
        put_hello(&two, &extensions);
        put_records(&record, two.text, two.size, TLS_RECORD_MAX);
        check(&record, "a", REFUSAL_TLS_MESSAGE);
}

/* Every length in the hello, one too small and one too great. */
static void lengths_add_up(void **state) {
        static const struct { size_t at; const char *what; } lengths[] = {
                { 8, "message" }, { 9 + 34, "session" }, { 9 + 34 + 5 + 1, "ciphers" }, { 9 + 34 + 11, "compression" },
                { 9 + 34 + 14, "extensions" }, { 9 + 34 + 15 + 3, "server_name" },
        };

        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(lengths); i++)
                for (int step = -1; step <= 1; step += 2) {
                        _cleanup_str_ struct str s = { 0 };
                        const struct authority a = host_of("a.example");
                        _cleanup_tls_hello_ struct tls_hello hello;

                        put_simple(&s, "a.example");
                        s.text[lengths[i].at] = (char)(s.text[lengths[i].at] + step);
                        tls_hello_begin(&hello, &a, false);
                        feed(&hello, &s, SIZE_MAX);
                        if (i == 0 && step > 0 ? hello.status == TLS_MORE : hello.status == TLS_REFUSED)
                                continue;
                        print_error("%s %+d: status %d\n", lengths[i].what, step, hello.status);
                        abort();
                }
}

static void check_body(size_t at, char value, enum refusal refusal) {
        _cleanup_str_ struct str s = { 0 };

        put_simple(&s, "a");
        s.text[at] = value;
        check(&s, "a", refusal);
}

static void parts_have_their_sizes(void **state) {
        static const struct { const char *body; size_t n; enum refusal refusal; } rows[] = {
                { "\0\0\2\x13\1\1\0", 7, REFUSAL_NONE },
                { "\0\0\0\1\0", 5, REFUSAL_TLS_HELLO },           /* no cipher suite */
                { "\0\0\3\x13\1\1\1\0", 8, REFUSAL_TLS_HELLO },   /* one and a half */
                { "\0\0\2\x13\1\0", 6, REFUSAL_TLS_HELLO },       /* no compression method */
                { "\0\0\2\x13\1\1\0\0", 8, REFUSAL_TLS_HELLO },   /* half a length of extensions */
                { "\0\0\2\x13\1\1\0\0\0", 9, REFUSAL_NONE },      /* no extension */
                { "\0\0\2\x13\1\1\0\0\0x", 10, REFUSAL_TLS_HELLO }, /* a byte behind them */
                { "\0\0\2\x13\1\1\0\0\1x", 10, REFUSAL_TLS_HELLO },
                { "\0\0\2\x13\1\1\0\0\4\0\x2b\0\1", 13, REFUSAL_TLS_HELLO },
                { "\0\0\2\x13\1\1\0\0\4\0\x2b\0\0", 13, REFUSAL_NONE },
                { "\x21" "01234567890123456789012345678901X\0\2\x13\1\1\0", 40, REFUSAL_TLS_HELLO }, /* a session of 33 bytes */
                { "\x20" "01234567890123456789012345678901\0\2\x13\1\1\0", 39, REFUSAL_NONE },
        };

        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_str_ struct str hello = { 0 }, s = { 0 };

                str_add(&hello, "\1\0\0", 3);
                str_putc(&hello, (char)(34 + rows[i].n));
                str_add(&hello, "\3\3RRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRR", 34);
                str_add(&hello, rows[i].body, rows[i].n);
                put_records(&s, hello.text, hello.size, TLS_RECORD_MAX);
                check(&s, "192.0.2.1", rows[i].refusal);
        }
        check_body(9, 3, REFUSAL_NONE);
        check_body(9, 2, REFUSAL_TLS_HELLO); /* the version's first byte */
        check_body(10, 1, REFUSAL_NONE);
}

static void an_extension_stands_once(void **state) {
        static const unsigned types[] = { 0x2b, 0x0a0a, 0xffff, 0x0000 };

        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(types); i++) {
                _cleanup_str_ struct str extensions = { 0 }, hello = { 0 }, s = { 0 };

                put_name(&extensions, "a", 1);
                if (types[i])
                        put_extension(&extensions, types[i], "", 0);
                put_extension(&extensions, types[i] ^ 0x100, "", 0); /* another one */
                put_hello(&hello, &extensions);
                put_records(&s, hello.text, hello.size, TLS_RECORD_MAX);
                check(&s, "a", REFUSAL_NONE);
                if (types[i])
                        put_extension(&extensions, types[i], "", 0);
                else
                        put_name(&extensions, "a", 1);
                hello.size = s.size = 0;
                put_hello(&hello, &extensions);
                put_records(&s, hello.text, hello.size, TLS_RECORD_MAX);
                check(&s, "a", REFUSAL_TLS_HELLO);
        }
}

static void encrypted_hellos_are_refused_unless_allowed(void **state) {
        static const struct { unsigned type; const char *data; size_t n; enum refusal refusal, allowed; } rows[] = {
                { 0xfe0d, "\0\0\1\0\1", 5, REFUSAL_TLS_ECH, REFUSAL_NONE },
                { 0xfe0d, "\1", 1, REFUSAL_TLS_ECH, REFUSAL_TLS_ECH }, /* the inner one's, in the open */
                { 0xfe0d, "", 0, REFUSAL_TLS_ECH, REFUSAL_TLS_ECH },
                { 0xfd00, "\2\0\0", 3, REFUSAL_TLS_ECH, REFUSAL_TLS_ECH },
                { 0xffce, "\0", 1, REFUSAL_TLS_ECH, REFUSAL_TLS_ECH },
        };

        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(rows); i++)
                for (int allowed = 0; allowed <= 1; allowed++) {
                        _cleanup_str_ struct str extensions = { 0 }, hello = { 0 }, s = { 0 };
                        enum refusal refusal = allowed ? rows[i].allowed : rows[i].refusal;

                        put_name(&extensions, "a", 1);
                        put_extension(&extensions, rows[i].type, rows[i].data, rows[i].n);
                        put_hello(&hello, &extensions);
                        put_records(&s, hello.text, hello.size, TLS_RECORD_MAX);
                        check_after(NULL, &s, "a", allowed, refusal ? TLS_REFUSED : TLS_DONE, refusal, s.size);
                        check_after(NULL, &s, "b", true, TLS_REFUSED, REFUSAL_TLS_NAME_DIFFERS, 0);
                }
}

static void first_hello(struct tls_hello *first, const struct authority *a, const char *name, bool early) {
        _cleanup_str_ struct str extensions = { 0 }, hello = { 0 }, s = { 0 };

        if (name)
                put_name(&extensions, name, strlen(name));
        if (early)
                put_extension(&extensions, 0x2a, "", 0);
        put_hello(&hello, &extensions);
        put_records(&s, hello.text, hello.size, TLS_RECORD_MAX);
        tls_hello_begin(first, a, false);
        feed(first, &s, SIZE_MAX);
        assert_int_equal(first->status, TLS_DONE);
        assert_int_equal(first->early_data, early);
        assert_int_equal(first->has_name, name != NULL);
}

static void the_second_hello_names_the_same_server(void **state) {
        static const struct { const char *before, *name; size_t n; bool early; enum refusal refusal; } rows[] = {
                { "", "a", 0, false, REFUSAL_NONE },
                { "", "b", 0, false, REFUSAL_TLS_NAME_DIFFERS },
                { "", NULL, 0, false, REFUSAL_TLS_NO_NAME },
                { "\x14\3\3\0\1\1", "a", 6, false, REFUSAL_NONE },
                { "\x14\3\3\0\1\1", "b", 6, false, REFUSAL_TLS_NAME_DIFFERS },
                { "\x14\3\3\0\1\2", "a", 6, false, REFUSAL_TLS_RECORD },
                { "\x14\3\3\0\2\1\1", "a", 7, false, REFUSAL_TLS_RECORD },
                { "\x14\3\3\0\1\1\x14\3\3\0\1\1", "a", 12, false, REFUSAL_TLS_RECORD },
                { "\x17\3\3\0\3xyz", "a", 8, false, REFUSAL_TLS_RECORD },
                { "\x17\3\3\0\3xyz\x14\3\3\0\1\1\x17\3\3\0\1x", "a", 20, true, REFUSAL_NONE },
                { "\x17\3\3\0\3xyz", "b", 8, true, REFUSAL_TLS_NAME_DIFFERS },
                { "\x15\3\3\0\2\1\0", "a", 7, true, REFUSAL_TLS_RECORD },
                { "GET", "a", 3, true, REFUSAL_NOT_TLS },
        };
        const struct authority a = host_of("a"), address = host_of("192.0.2.1");
        _cleanup_tls_hello_ struct tls_hello unnamed, named;
        _cleanup_str_ struct str with = { 0 }, without = { 0 };

        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_tls_hello_ struct tls_hello first;
                _cleanup_str_ struct str s = { 0 };

                first_hello(&first, &a, "a", rows[i].early);
                str_add(&s, rows[i].before, rows[i].n);
                put_simple(&s, rows[i].name);
                check_after(&first, &s, "a", false, rows[i].refusal ? TLS_REFUSED : TLS_DONE, rows[i].refusal, s.size);
        }
        first_hello(&unnamed, &address, NULL, false);
        first_hello(&named, &address, "192.0.2.1", false);
        put_simple(&with, "192.0.2.1");
        put_simple(&without, NULL);
        check_after(&unnamed, &without, "a", false, TLS_DONE, REFUSAL_NONE, without.size);
        check_after(&unnamed, &with, "a", false, TLS_REFUSED, REFUSAL_TLS_NAME_DIFFERS, 0);
        check_after(&named, &with, "a", false, TLS_DONE, REFUSAL_NONE, with.size);
        check_after(&named, &without, "a", false, TLS_REFUSED, REFUSAL_TLS_NAME_DIFFERS, 0);
}

static void put_early(struct str *out, size_t n) {
        str_add(out, "\x17\3\3", 3);
        put16(out, n);
        while (n--)
                str_putc(out, 'x');
}

static void endless_early_data_ends(void **state) {
        const struct authority a = host_of("a");
        _cleanup_tls_hello_ struct tls_hello first;
        _cleanup_str_ struct str large = { 0 }, simple = { 0 };

        (void)state;
        first_hello(&first, &a, "a", true);
        put_simple(&simple, "a");
        for (unsigned extra = 0; extra <= 1; extra++) {
                _cleanup_str_ struct str s = { 0 };

                for (unsigned i = 0; i < 3; i++)
                        put_early(&s, TLS_CIPHERTEXT_MAX);
                put_early(&s, TLS_RAW_MAX - simple.size - s.size - 5 + extra);
                str_add(&s, simple.text, simple.size);
                check_after(&first, &s, "a", false, extra ? TLS_REFUSED : TLS_DONE, extra ? REFUSAL_TLS_SIZE : REFUSAL_NONE, s.size);
        }
        while (large.size <= TLS_RAW_MAX)
                put_early(&large, TLS_CIPHERTEXT_MAX);
        check_after(&first, &large, "a", false, TLS_REFUSED, REFUSAL_TLS_SIZE, 0);
        large.text[4] = 1;
        check_after(&first, &large, "a", false, TLS_REFUSED, REFUSAL_TLS_RECORD, 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_name_is_the_host_that_was_asked_for),
                cmocka_unit_test(an_address_needs_no_name_or_its_own_text),
                cmocka_unit_test(a_server_name_list_has_one_name),
                cmocka_unit_test(however_it_is_cut_it_is_one_hello),
                cmocka_unit_test(records_are_counted),
                cmocka_unit_test(what_is_no_client_hello_is_refused_at_its_first_wrong_byte),
                cmocka_unit_test(sizes_are_exact),
                cmocka_unit_test(other_records_do_not_come_between),
                cmocka_unit_test(what_follows_the_hello_is_left_but_not_in_its_record),
                cmocka_unit_test(lengths_add_up),
                cmocka_unit_test(parts_have_their_sizes),
                cmocka_unit_test(an_extension_stands_once),
                cmocka_unit_test(encrypted_hellos_are_refused_unless_allowed),
                cmocka_unit_test(the_second_hello_names_the_same_server),
                cmocka_unit_test(endless_early_data_ends),
        };

        return RUN_TESTS(tests);
}
