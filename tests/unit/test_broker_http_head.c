/* Heads of requests: what is read, what goes on to the origin, and what is refused, however the bytes are cut into pieces. */
#include "unit.h"

#include "broker/http_head.h"

static void feed(struct http_head *head, const char *text, size_t n, size_t piece, size_t *ret_used) {
        size_t at = 0, used;

        while (at < n && head->status == HTTP_MORE) {
                size_t size = n - at < piece ? n - at : piece;

                http_head_feed(head, text + at, size, &used);
                at += used;
        }
        *ret_used = at;
}

/* With all pieces of 1, 2, 3, 7 bytes and in one. */
static void check(const char *text, size_t n, enum http_status status, enum refusal refusal, size_t used, const char *forwarded) {
        static const size_t pieces[] = { 1, 2, 3, 7, SIZE_MAX };

        for (size_t i = 0; i < ELEMENTSOF(pieces); i++) {
                _cleanup_http_head_ struct http_head head = { 0 };
                _cleanup_str_ struct str out = { 0 };
                size_t got;

                feed(&head, text, n, pieces[i], &got);
                if (head.status == HTTP_DONE && !head.connect)
                        http_head_write(&head, &out);
                if (head.status == status && head.refusal == refusal && (status != HTTP_DONE || got == used) &&
                        (!forwarded || (out.text && streq(out.text, forwarded))))
                        continue;
                print_error("%.300s\nin pieces of %zu: status %d, refusal %d (%s), %zu of %zu bytes used\n%s\n", text, pieces[i],
                        head.status, head.refusal, refusal_row(head.refusal)->text, got, n, out.text ? out.text : "");
                abort();
        }
}

#define LITERAL(text) (text), sizeof(text) - 1 /* with the NULs inside */
#define TAIL "Via: 1.1 sage\r\nConnection: close\r\n\r\n"

static void a_plain_request_is_written_anew(void **state) {
        static const struct {
                const char *text, *forwarded;
        } rows[] = {
                { "GET http://example.com/a?b=c HTTP/1.1\r\nHost: example.com\r\n\r\n",
                        "GET /a?b=c HTTP/1.1\r\nHost: example.com\r\n" TAIL },
                { "GET HTTP://EXAMPLE.com.:80 HTTP/1.1\r\nhOST:example.COM\r\n\r\n", "GET / HTTP/1.1\r\nHost: example.com\r\n" TAIL },
                { "GET http://example.com?q HTTP/1.1\r\nHost: example.com:80\r\n\r\n", "GET /?q HTTP/1.1\r\nHost: example.com\r\n" TAIL },
                { "GET http://[::1]:8080/ HTTP/1.1\r\nHost: [0::1]:8080\r\n\r\n", "GET / HTTP/1.1\r\nHost: [::1]:8080\r\n" TAIL },
                { "HEAD http://a/~[%~! HTTP/1.0\r\n\r\n", "HEAD /~[%~! HTTP/1.0\r\nHost: a\r\n" TAIL },
                { "OPTIONS http://a HTTP/1.1\r\nHost: a\r\nMax-Forwards: 3\r\n\r\n",
                        "OPTIONS * HTTP/1.1\r\nHost: a\r\nMax-Forwards: 3\r\n" TAIL },
                { "OPTIONS http://a/ HTTP/1.1\r\nHost: a\r\n\r\n", "OPTIONS / HTTP/1.1\r\nHost: a\r\n" TAIL },
                { "PUT http://a/ HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-Continue\r\nX: \t y z \t\r\n\r\n",
                        "PUT / HTTP/1.1\r\nHost: a\r\nX: y z\r\nContent-Length: 5\r\n" TAIL },
                { "GET http://a/ HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n",
                        "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n" TAIL },
                /* What is for this hop stays here, by its name or by Connection's. */
                { "GET http://a/ HTTP/1.1\r\nHost: a\r\nConnection: close, X-Hop ,connection\r\nProxy-Connection: x\r\nKeep-Alive: 5\r\n"
                  "TE: trailers\r\nTrailer: x\r\nProxy-Authenticate: x\r\nProxy-Authorization: Basic x\r\nx-hop: 1\r\nX-HOP: 2\r\n"
                  "X-Hop2: 3\r\nCookie: a\r\nCookie: b\r\nVia: 1.0 x\r\nX-Forwarded-For: y\r\n\r\n",
                        "GET / HTTP/1.1\r\nHost: a\r\nX-Hop2: 3\r\nCookie: a\r\nCookie: b\r\nVia: 1.0 x\r\nX-Forwarded-For: y\r\n" TAIL },
                { "GET http://a/ HTTP/1.1\r\nX-Later: 1\r\nHost: a\r\nConnection: x-later\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\n" TAIL },
                /* obs-text is allowed in values, and an empty value is one. */
                { "GET http://a/ HTTP/1.1\r\nHost: a\r\nX: \xc3\xbc\r\nY:\r\n\r\n",
                        "GET / HTTP/1.1\r\nHost: a\r\nX: \xc3\xbc\r\nY: \r\n" TAIL },
        };

        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(rows); i++)
                check(rows[i].text, strlen(rows[i].text), HTTP_DONE, REFUSAL_NONE, strlen(rows[i].text), rows[i].forwarded);
}

static void what_follows_the_head_is_left(void **state) {
        static const char request[] = "POST http://a/ HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabcGET http://b/ HTTP/1.1\r\n";
        static const char tunnel[] = "CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n\x16\x03\x01";
        _cleanup_http_head_ struct http_head head = { 0 }, again = { 0 };
        size_t used;

        (void)state;
        check(request, sizeof request - 1, HTTP_DONE, REFUSAL_NONE, (size_t)(strstr(request, "abc") - request), NULL);
        check(tunnel, sizeof tunnel - 1, HTTP_DONE, REFUSAL_NONE, sizeof tunnel - 4, NULL);
        assert_int_equal(http_head_feed(&head, request, sizeof request - 1, &used), HTTP_DONE);
        assert_int_equal(http_head_feed(&head, request, sizeof request - 1, &used), HTTP_DONE);
        assert_int_equal(used, 0);
        assert_int_equal(http_head_feed(&again, "x\n", 2, &used), HTTP_REFUSED);
        assert_int_equal(http_head_feed(&again, request, sizeof request - 1, &used), HTTP_REFUSED);
        assert_int_equal(used, 0);
}

static void the_parts_are_told(void **state) {
        static const char text[] = "OPTIONS http://Example.com:81/ HTTP/1.0\r\nMax-Forwards: 0\r\nContent-Length: 1234567890123456789\r\n"
                                   "Expect: 100-continue\r\n\r\n";
        static const char connect[] = "CONNECT [::1]:8443 HTTP/1.1\r\nHost: [::1]\r\nMax-Forwards: 0\r\nExpect: 100-continue\r\n"
                                      "Content-Length: 0\r\n\r\n";
        _cleanup_http_head_ struct http_head head = { 0 }, tunnel = { 0 };
        size_t used;

        (void)state;
        assert_int_equal(http_head_feed(&head, text, strlen(text), &used), HTTP_DONE);
        assert_true(head.http10 && !head.expect_continue && head.answer_self && !head.connect);
        assert_string_equal(head.method, "OPTIONS");
        assert_string_equal(head.authority.host, "example.com");
        assert_int_equal(head.authority.port, 81);
        assert_int_equal(head.content_length, 1234567890123456789);
        assert_int_equal(http_head_feed(&tunnel, connect, strlen(connect), &used), HTTP_DONE);
        assert_true(tunnel.connect && !tunnel.http10 && tunnel.expect_continue && !tunnel.answer_self);
        assert_string_equal(tunnel.authority.host, "::1");
        assert_int_equal(tunnel.authority.port, 8443);
}

/* A line of "GET http://a/ HTTP/1.1\r\nHost: a\r\n" + LINE + "\r\n". */
static const struct {
        const char *line;
        enum refusal refusal;
} bad_fields[] = {
        { "\n", REFUSAL_LINE_END },
        { "X: a\nY: b\r\n", REFUSAL_LINE_END },
        { "X: a\rb\r\n", REFUSAL_LINE_END },
        { "X: a\r\r\n", REFUSAL_LINE_END },
        { "X: a\001\r\n", REFUSAL_CONTROL },
        { "X: a\177\r\n", REFUSAL_CONTROL },
        { "X: a\v\r\n", REFUSAL_CONTROL },
        { "X: a\r\n b\r\n", REFUSAL_FIELD },
        { "X: a\r\n\tb\r\n", REFUSAL_FIELD },
        { "\xc3\xbc: a\r\n", REFUSAL_FIELD },
        { "Content-Length : 5\r\n", REFUSAL_FIELD },
        { "Content-Length\t: 5\r\n", REFUSAL_FIELD },
        { ": a\r\n", REFUSAL_FIELD },
        { "X\r\n", REFUSAL_FIELD },
        { "X(: a\r\n", REFUSAL_FIELD },
        { "Host: a\r\n", REFUSAL_HOST_FIELD },
        { "hoST: b\r\n", REFUSAL_HOST_FIELD },
        { "Content-Length: 5\r\nContent-Length: 5\r\n", REFUSAL_FRAMING },
        { "Content-Length: 5, 5\r\n", REFUSAL_FRAMING },
        { "Content-Length: 5,\r\n", REFUSAL_FRAMING },
        { "Content-Length: +5\r\n", REFUSAL_FRAMING },
        { "Content-Length: -5\r\n", REFUSAL_FRAMING },
        { "Content-Length: 0x5\r\n", REFUSAL_FRAMING },
        { "Content-Length: 5 5\r\n", REFUSAL_FRAMING },
        { "Content-Length:\r\n", REFUSAL_FRAMING },
        { "Content-Length: 05\r\n", REFUSAL_FRAMING },
        { "Content-Length: 00\r\n", REFUSAL_FRAMING },
        { "Content-Length: 12345678901234567890\r\n", REFUSAL_FRAMING },
        { "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", REFUSAL_FRAMING },
        { "Transfer-Encoding: chunked\r\nContent-Length: 0\r\n", REFUSAL_FRAMING },
        { "Transfer-Encoding: chunked\r\n", REFUSAL_CHUNKED },
        { "Transfer-Encoding: Chunked,\r\nTransfer-Encoding: x\r\n", REFUSAL_CHUNKED },
        { "transfer-encoding:\r\n", REFUSAL_CHUNKED },
        { "Transfer-Encoding: identity\r\n", REFUSAL_CHUNKED },
        { "Connection: upgrade\r\n", REFUSAL_UPGRADE },
        { "Connection: close, Upgrade\r\n", REFUSAL_UPGRADE },
        { "Upgrade: h2c\r\n", REFUSAL_UPGRADE },
        { "HTTP2-Settings: x\r\n", REFUSAL_UPGRADE },
        { "Sec-WebSocket-Key: x\r\n", REFUSAL_UPGRADE },
        { "Connection: host\r\n", REFUSAL_CONNECTION },
        { "Connection: Content-Length\r\n", REFUSAL_CONNECTION },
        { "Connection: x,transfer-encoding\r\n", REFUSAL_CONNECTION },
        { "Connection: authorization\r\n", REFUSAL_CONNECTION },
        { "Connection: cookie\r\n", REFUSAL_CONNECTION },
        { "Connection:\r\n", REFUSAL_CONNECTION },
        { "Connection: a,,b\r\n", REFUSAL_CONNECTION },
        { "Connection: a,\r\n", REFUSAL_CONNECTION },
        { "Connection: ,a\r\n", REFUSAL_CONNECTION },
        { "Connection: a b\r\n", REFUSAL_CONNECTION },
        { "Expect: 200-maybe\r\n", REFUSAL_EXPECT },
        { "Expect: 100-continue, x\r\n", REFUSAL_EXPECT },
        { "Expect:\r\n", REFUSAL_EXPECT },
};

static void a_field_that_is_not_understood_is_refused(void **state) {
        char text[512];

        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(bad_fields); i++) {
                snprintf(text, sizeof text, "GET http://a/ HTTP/1.1\r\nHost: a\r\n%s\r\n", bad_fields[i].line);
                check(text, strlen(text), HTTP_REFUSED, bad_fields[i].refusal, 0, NULL);
        }
}

static const struct {
        const char *line;
        enum refusal refusal;
} bad_request_lines[] = {
        { "", REFUSAL_REQUEST_LINE },
        { "GET", REFUSAL_REQUEST_LINE },
        { "GET http://a/", REFUSAL_REQUEST_LINE }, /* HTTP/0.9 */
        { "GET  http://a/ HTTP/1.1", REFUSAL_REQUEST_LINE },
        { "GET http://a/  HTTP/1.1", REFUSAL_REQUEST_LINE },
        { "GET http://a/ HTTP/1.1 ", REFUSAL_REQUEST_LINE },
        { " GET http://a/ HTTP/1.1", REFUSAL_REQUEST_LINE },
        { "GET http://a/ b HTTP/1.1", REFUSAL_REQUEST_LINE },
        { "GET  HTTP/1.1", REFUSAL_REQUEST_LINE },
        { "GET\thttp://a/ HTTP/1.1", REFUSAL_CONTROL },
        { "GET\vhttp://a/ HTTP/1.1", REFUSAL_CONTROL },
        { "GET http://a/\xc3\xbc HTTP/1.1", REFUSAL_CONTROL },
        { "GET http://a/\x7f HTTP/1.1", REFUSAL_CONTROL },
        { "GET http://a/\x80 HTTP/1.1", REFUSAL_CONTROL },
        { "GET http://a/ http/1.1", REFUSAL_REQUEST_LINE },
        { "GET http://a/ HTTP/1.2", REFUSAL_VERSION },
        { "GET http://a/ HTTP/1.10", REFUSAL_VERSION },
        { "GET http://a/ HTTP/2", REFUSAL_VERSION },
        { "GET http://a/ HTTP/", REFUSAL_VERSION },
        { "PRI * HTTP/2.0", REFUSAL_VERSION },
        { "GE(T http://a/ HTTP/1.1", REFUSAL_REQUEST_LINE },
        { "ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFG http://a/ HTTP/1.1", REFUSAL_REQUEST_LINE },
        { "ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEF http://a/ HTTP/1.1", REFUSAL_METHOD },
        { "get http://a/ HTTP/1.1", REFUSAL_METHOD },
        { "connect a:443 HTTP/1.1", REFUSAL_METHOD },
        { "TRACE http://a/ HTTP/1.1", REFUSAL_METHOD },
        { "TRACK http://a/ HTTP/1.1", REFUSAL_METHOD },
        { "PROPFIND http://a/ HTTP/1.1", REFUSAL_METHOD },
        { "GET / HTTP/1.1", REFUSAL_TARGET_FORM },
        { "GET /a://b HTTP/1.1", REFUSAL_TARGET_FORM },
        { "GET a:80 HTTP/1.1", REFUSAL_TARGET_FORM },
        { "OPTIONS * HTTP/1.1", REFUSAL_TARGET_FORM },
        { "GET https://a/ HTTP/1.1", REFUSAL_USE_CONNECT },
        { "GET https:// HTTP/1.1", REFUSAL_USE_CONNECT },
        { "GET HTTPS://a/ HTTP/1.1", REFUSAL_USE_CONNECT },
        { "GET ftp://a/ HTTP/1.1", REFUSAL_TARGET_SCHEME },
        { "GET ws://a/ HTTP/1.1", REFUSAL_TARGET_SCHEME },
        { "GET http://a/#f HTTP/1.1", REFUSAL_TARGET },
        { "GET http://a/\\b HTTP/1.1", REFUSAL_TARGET },
        { "GET http://a/<b HTTP/1.1", REFUSAL_TARGET },
        { "GET http://a/>b HTTP/1.1", REFUSAL_TARGET },
        { "GET http://a/\"b HTTP/1.1", REFUSAL_TARGET },
        { "GET http://a/{b HTTP/1.1", REFUSAL_TARGET },
        { "GET http://a/}b HTTP/1.1", REFUSAL_TARGET },
        { "GET http://a/|b HTTP/1.1", REFUSAL_TARGET },
        { "GET http://a/^b HTTP/1.1", REFUSAL_TARGET },
        { "GET http://a/`b HTTP/1.1", REFUSAL_TARGET },
        { "GET http://user@a/ HTTP/1.1", REFUSAL_USERINFO },
        { "GET http://user:pw@a/ HTTP/1.1", REFUSAL_USERINFO },
        { "GET http:/// HTTP/1.1", REFUSAL_HOST_EMPTY },
        { "GET http:// HTTP/1.1", REFUSAL_HOST_EMPTY },
        { "GET http://:80/ HTTP/1.1", REFUSAL_HOST_EMPTY },
        { "GET http://a:/ HTTP/1.1", REFUSAL_PORT },
        { "GET http://a:0/ HTTP/1.1", REFUSAL_PORT },
        { "GET http://a:080/ HTTP/1.1", REFUSAL_PORT },
        { "GET http://[example.com]/ HTTP/1.1", REFUSAL_HOST_BRACKETS },
        { "GET http://%65xample.com/ HTTP/1.1", REFUSAL_HOST_ENCODING },
        { "GET http://127.1/ HTTP/1.1", REFUSAL_HOST_NUMBER },
        { "CONNECT a HTTP/1.1", REFUSAL_PORT },
        { "CONNECT a: HTTP/1.1", REFUSAL_PORT },
        { "CONNECT :443 HTTP/1.1", REFUSAL_HOST_EMPTY },
        { "CONNECT a:443/ HTTP/1.1", REFUSAL_PORT },
        { "CONNECT http://a/ HTTP/1.1", REFUSAL_PORT },
        { "CONNECT u@a:443 HTTP/1.1", REFUSAL_USERINFO },
        { "CONNECT evil.com%00.google.com:443 HTTP/1.1", REFUSAL_HOST_ENCODING },
};

static void a_request_line_has_one_form(void **state) {
        char text[256];

        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(bad_request_lines); i++) {
                snprintf(text, sizeof text, "%s\r\nHost: a\r\n\r\n", bad_request_lines[i].line);
                check(text, strlen(text), HTTP_REFUSED, bad_request_lines[i].refusal, 0, NULL);
        }
        check(LITERAL("\r\nGET http://a/ HTTP/1.1\r\n"), HTTP_REFUSED, REFUSAL_REQUEST_LINE, 0, NULL);
        check(LITERAL("GET http://a/\nHost: a\r\n"), HTTP_REFUSED, REFUSAL_LINE_END, 0, NULL);
        check(LITERAL("GET http://a/\0 HTTP/1.1\r\n"), HTTP_REFUSED, REFUSAL_CONTROL, 0, NULL);
        check(LITERAL("GET http://a/ HTTP/1.1\r\nHost: a\0b\r\n"), HTTP_REFUSED, REFUSAL_CONTROL, 0, NULL);
        check(LITERAL("GET http://a/ HTTP/1.1\r\n Host: a\r\n"), HTTP_REFUSED, REFUSAL_FIELD, 0, NULL);
}

static void host_and_target_say_the_same(void **state) {
        static const char with_port[] = "CONNECT A.:443 HTTP/1.1\r\nHost: a:443\r\n\r\n", without[] = "CONNECT a:443 HTTP/1.0\r\n\r\n";
        static const struct {
                const char *text;
                enum refusal refusal;
        } rows[] = {
                { "GET http://a/ HTTP/1.1\r\n\r\n", REFUSAL_HOST_FIELD },
                { "CONNECT a:443 HTTP/1.1\r\n\r\n", REFUSAL_HOST_FIELD },
                { "GET http://allowed/ HTTP/1.1\r\nHost: evil\r\n\r\n", REFUSAL_HOST_DIFFERS },
                { "GET http://allowed/ HTTP/1.0\r\nHost: evil\r\n\r\n", REFUSAL_HOST_DIFFERS },
                { "GET http://a/ HTTP/1.1\r\nHost: a:81\r\n\r\n", REFUSAL_HOST_DIFFERS },
                { "GET http://a:81/ HTTP/1.1\r\nHost: a\r\n\r\n", REFUSAL_HOST_DIFFERS },
                { "CONNECT a:443 HTTP/1.1\r\nHost: b\r\n\r\n", REFUSAL_HOST_DIFFERS },
                { "CONNECT a:443 HTTP/1.1\r\nHost: a:80\r\n\r\n", REFUSAL_HOST_DIFFERS },
                { "GET http://a/ HTTP/1.1\r\nHost:\r\n\r\n", REFUSAL_HOST_EMPTY },
                { "GET http://a/ HTTP/1.1\r\nHost: a, b\r\n\r\n", REFUSAL_HOST_NAME },
                { "GET http://a/ HTTP/1.1\r\nHost: a/\r\n\r\n", REFUSAL_HOST_NAME },
                { "CONNECT a:443 HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n", REFUSAL_FRAMING },
                { "CONNECT a:443 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", REFUSAL_FRAMING },
        };

        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(rows); i++)
                check(rows[i].text, strlen(rows[i].text), HTTP_REFUSED, rows[i].refusal, 0, NULL);
        check(with_port, strlen(with_port), HTTP_DONE, REFUSAL_NONE, strlen(with_port), NULL);
        check(without, strlen(without), HTTP_DONE, REFUSAL_NONE, strlen(without), NULL);
}

/* PREFIX, FILL bytes of 'a', SUFFIX. */
static char *filled(const char *prefix, size_t fill, const char *suffix) {
        char *text = malloc(strlen(prefix) + fill + strlen(suffix) + 1);

        strcpy(text, prefix);
        memset(text + strlen(prefix), 'a', fill);
        strcpy(text + strlen(prefix) + fill, suffix);
        return text;
}

static void check_filled(const char *prefix, size_t fill, const char *suffix, enum refusal refusal) {
        char *text = filled(prefix, fill, suffix);

        check(text, strlen(text), refusal ? HTTP_REFUSED : HTTP_DONE, refusal, strlen(text), NULL);
        free(text);
}

static void limits_are_exact(void **state) {
        static const char get[] = "GET http://a/ HTTP/1.1\r\nHost: a\r\n";
        _cleanup_str_ struct str text = { 0 };
        char *endless = filled("", HTTP_LINE_MAX, "");

        (void)state;
        check_filled("GET http://a/", HTTP_LINE_MAX - 22, " HTTP/1.1\r\nHost: a\r\n\r\n", REFUSAL_NONE);
        check_filled("GET http://a/", HTTP_LINE_MAX - 21, " HTTP/1.1\r\nHost: a\r\n\r\n", REFUSAL_LINE_LIMIT);
        check_filled("GET http://a/ HTTP/1.1\r\nHost: a\r\nX:", HTTP_LINE_MAX - 2, "\r\n\r\n", REFUSAL_NONE);
        check_filled("GET http://a/ HTTP/1.1\r\nHost: a\r\nX:", HTTP_LINE_MAX - 1, "\r\n\r\n", REFUSAL_HEAD_LIMIT);
        check(endless, HTTP_LINE_MAX, HTTP_MORE, REFUSAL_NONE, 0, NULL);
        free(endless);

        for (unsigned n = 99; n <= 100; n++) { /* and Host */
                text.size = 0;
                str_puts(&text, get);
                for (unsigned i = 0; i < n; i++)
                        str_puts(&text, "X: y\r\n");
                str_puts(&text, "\r\n");
                check(text.text, text.size, n == 99 ? HTTP_DONE : HTTP_REFUSED, n == 99 ? REFUSAL_NONE : REFUSAL_HEAD_LIMIT, text.size,
                        NULL);
        }
        for (size_t extra = 0; extra <= 1; extra++) {
                size_t want = HTTP_HEAD_MAX + extra;

                text.size = 0;
                str_puts(&text, get);
                while (want - text.size > HTTP_LINE_MAX) {
                        str_puts(&text, "X:");
                        for (unsigned i = 0; i < 4000; i++)
                                str_putc(&text, 'a');
                        str_puts(&text, "\r\n");
                }
                str_puts(&text, "Y:");
                while (text.size < want - 4)
                        str_putc(&text, 'b');
                str_puts(&text, "\r\n\r\n");
                check(text.text, text.size, extra ? HTTP_REFUSED : HTTP_DONE, extra ? REFUSAL_HEAD_LIMIT : REFUSAL_NONE, text.size, NULL);
        }
}

static void every_refusal_has_a_code_and_a_status(void **state) {
        (void)state;
        for (int i = 1; i < REFUSAL_COUNT; i++) {
                const struct refusal_row *row = refusal_row((enum refusal)i);

                if (!row->code || !strchr(row->code, '.') || row->status < 400 || row->status > 599 || !row->text[0]) {
                        print_error("refusal %d\n", i);
                        abort();
                }
        }
        assert_string_equal(refusal_row(REFUSAL_COUNT)->code, "");
        assert_int_equal(refusal_row(REFUSAL_CHUNKED)->status, 411);
        assert_int_equal(refusal_row(REFUSAL_LINE_LIMIT)->status, 414);
        assert_int_equal(refusal_row(REFUSAL_HEAD_LIMIT)->status, 431);
        assert_int_equal(refusal_row(REFUSAL_METHOD)->status, 501);
        assert_int_equal(refusal_row(REFUSAL_UPGRADE)->status, 501);
        assert_int_equal(refusal_row(REFUSAL_VERSION)->status, 505);
        assert_int_equal(refusal_row(REFUSAL_EXPECT)->status, 417);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_plain_request_is_written_anew),
                cmocka_unit_test(what_follows_the_head_is_left),
                cmocka_unit_test(the_parts_are_told),
                cmocka_unit_test(a_field_that_is_not_understood_is_refused),
                cmocka_unit_test(a_request_line_has_one_form),
                cmocka_unit_test(host_and_target_say_the_same),
                cmocka_unit_test(limits_are_exact),
                cmocka_unit_test(every_refusal_has_a_code_and_a_status),
        };

        return RUN_TESTS(tests);
}
