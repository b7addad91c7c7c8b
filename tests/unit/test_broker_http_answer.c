/* What an origin may answer, what of it the client gets, and where its body ends. */
#include "unit.h"

#include "broker/http_body.h"

static void feed_in_pieces(struct http_answer *answer, const char *method, const char *text, size_t piece, size_t *ret_used) {
        size_t n = strlen(text), at = 0, used;

        http_answer_begin(answer, method);
        while (at < n && answer->status == HTTP_MORE) {
                http_answer_feed(answer, text + at, n - at < piece ? n - at : piece, &used);
                at += used;
        }
        *ret_used = at;
}

static void an_answer_is_written_anew(void **state) {
        static const struct {
                const char *text, *written;
        } rows[] = {
                { "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX: \t a b \r\n\r\n",
                        "HTTP/1.1 200 OK\r\nX: a b\r\nContent-Length: 2\r\nConnection: close\r\n\r\n" },
                { "HTTP/1.0 404\r\n\r\n", "HTTP/1.1 404 \r\nConnection: close\r\n\r\n" },
                { "HTTP/1.1 299 \xc3\xa9\r\n\r\n", "HTTP/1.1 299 ??\r\nConnection: close\r\n\r\n" },
                { "HTTP/1.1 200 OK\r\nContent-Length: 2\r\ncontent-length: 2\r\n\r\n",
                        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n" },
                { "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\nTrailer: T\r\n\r\n",
                        "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\nConnection: close\r\n\r\n" },
                { "HTTP/1.1 200 OK\r\nConnection: keep-alive, X-Hop, transfer-encoding\r\nKeep-Alive: 5\r\nX-Hop: 1\r\nUpgrade: h2\r\n"
                  "Proxy-Authenticate: Basic\r\nTransfer-Encoding: chunked\r\nSet-Cookie: a\r\nSet-Cookie: b\r\n\r\n",
                        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nSet-Cookie: a\r\nSet-Cookie: b\r\nConnection: close\r\n\r\n" },
                { "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" },
        };

        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(rows); i++)
                for (size_t piece = 1; piece < 40; piece += 19) {
                        _cleanup_http_answer_ struct http_answer answer = { 0 };
                        _cleanup_str_ struct str out = { 0 };
                        size_t used;

                        feed_in_pieces(&answer, "GET", rows[i].text, piece, &used);
                        assert_int_equal(answer.status, HTTP_DONE);
                        assert_int_equal(used, strlen(rows[i].text));
                        http_answer_write(&answer, &out);
                        assert_string_equal(out.text, rows[i].written);
                }
}

static void the_framing_is_told(void **state) {
        static const struct {
                const char *method, *text;
                enum http_framing framing;
                uint64_t length;
        } rows[] = {
                { "GET", "HTTP/1.1 200 OK\r\nContent-Length: 012\r\n\r\n", HTTP_BODY_LENGTH, 12 },
                { "GET", "HTTP/1.1 200 OK\r\nContent-Length: 1234567890123456789\r\n\r\n", HTTP_BODY_LENGTH, 1234567890123456789 },
                { "GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", HTTP_BODY_CHUNKED, 0 },
                { "GET", "HTTP/1.1 200 OK\r\n\r\n", HTTP_BODY_CLOSE, 0 },
                { "HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n", HTTP_BODY_NONE, 12 },
                { "HEAD", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", HTTP_BODY_NONE, 0 },
                { "GET", "HTTP/1.1 204 No Content\r\nContent-Length: 12\r\n\r\n", HTTP_BODY_NONE, 0 },
                { "GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 12\r\n\r\n", HTTP_BODY_NONE, 12 },
                { "GET", "HTTP/1.1 100 Continue\r\n\r\n", HTTP_BODY_NONE, 0 },
        };

        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_http_answer_ struct http_answer answer = { 0 };
                size_t used;

                feed_in_pieces(&answer, rows[i].method, rows[i].text, 1000, &used);
                assert_int_equal(answer.status, HTTP_DONE);
                assert_int_equal(answer.framing, rows[i].framing);
                assert_int_equal(answer.length, rows[i].length);
        }
}

static void what_is_no_answer_is_refused(void **state) {
        static const struct {
                const char *text;
                enum refusal refusal;
        } rows[] = {
                { "HTTP/1.1 101 Switching Protocols\r\n", REFUSAL_ORIGIN_UPGRADE },
                { "HTTP/2.0 200 OK\r\n", REFUSAL_ORIGIN_HEAD },
                { "HTTP/1.1 2000 OK\r\n", REFUSAL_ORIGIN_HEAD },
                { "HTTP/1.1 20 OK\r\n", REFUSAL_ORIGIN_HEAD },
                { "HTTP/1.1 099 OK\r\n", REFUSAL_ORIGIN_HEAD },
                { "HTTP/1.1 600 OK\r\n", REFUSAL_ORIGIN_HEAD },
                { "HTTP/1.1  200 OK\r\n", REFUSAL_ORIGIN_HEAD },
                { "ICY 200 OK\r\n", REFUSAL_ORIGIN_HEAD },
                { "\r\n", REFUSAL_ORIGIN_HEAD },
                { "HTTP/1.1 200 OK\n", REFUSAL_ORIGIN_HEAD },
                { "HTTP/1.1 200 OK\r\nA: b\n", REFUSAL_ORIGIN_HEAD },
                { "HTTP/1.1 200 OK\r\nA: b\rc\r\n", REFUSAL_ORIGIN_HEAD },
                { "HTTP/1.1 200 OK\r\n A: b\r\n", REFUSAL_ORIGIN_HEAD },
                { "HTTP/1.1 200 OK\r\nA: b\r\n c\r\n", REFUSAL_ORIGIN_HEAD },
                { "HTTP/1.1 200 OK\r\nA : b\r\n", REFUSAL_ORIGIN_HEAD },
                { "HTTP/1.1 200 OK\r\nA\r\n", REFUSAL_ORIGIN_HEAD },
                { "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n", REFUSAL_ORIGIN_FRAMING },
                { "HTTP/1.1 200 OK\r\nContent-Length: 1, 1\r\n", REFUSAL_ORIGIN_FRAMING },
                { "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n", REFUSAL_ORIGIN_FRAMING },
                { "HTTP/1.1 200 OK\r\nContent-Length: 12345678901234567890\r\n", REFUSAL_ORIGIN_FRAMING },
                { "HTTP/1.1 200 OK\r\nContent-Length:\r\n", REFUSAL_ORIGIN_FRAMING },
                { "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n", REFUSAL_ORIGIN_FRAMING },
                { "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", REFUSAL_ORIGIN_FRAMING },
                { "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n", REFUSAL_ORIGIN_FRAMING },
                { "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", REFUSAL_ORIGIN_FRAMING },
        };

        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(rows); i++)
                for (size_t piece = 1; piece < 100; piece += 98) {
                        _cleanup_http_answer_ struct http_answer answer = { 0 };
                        size_t used;

                        feed_in_pieces(&answer, "GET", rows[i].text, piece, &used);
                        if (answer.refusal != rows[i].refusal)
                                print_message("%s\n", rows[i].text);
                        assert_int_equal(answer.status, HTTP_REFUSED);
                        assert_int_equal(answer.refusal, rows[i].refusal);
                }
}

static void a_hundred_fields_and_no_more(void **state) {
        (void)state;
        for (unsigned n = HTTP_FIELDS_MAX; n <= HTTP_FIELDS_MAX + 1; n++) {
                _cleanup_http_answer_ struct http_answer answer = { 0 };
                _cleanup_str_ struct str text = { 0 };
                size_t used;

                str_puts(&text, "HTTP/1.1 200 OK\r\n");
                for (unsigned i = 0; i < n; i++)
                        str_puts(&text, "a: b\r\n");
                str_puts(&text, "\r\n");
                feed_in_pieces(&answer, "GET", text.text, text.size, &used);
                assert_int_equal(answer.status, n == HTTP_FIELDS_MAX ? HTTP_DONE : HTTP_REFUSED);
        }
}

/* Feeds TEXT to BODY, PIECE bytes at a time; returns how much of it was used. */
static size_t feed_body(struct http_body *body, const char *text, size_t piece) {
        size_t n = strlen(text), at = 0, used = 1;

        while (at < n && body->status == HTTP_MORE && used) {
                http_body_feed(body, text + at, n - at < piece ? n - at : piece, &used);
                at += used;
        }
        return at;
}

static void a_body_ends_in_one_place(void **state) {
        static const struct {
                enum http_framing framing;
                uint64_t length;
                const char *text;
                size_t used;
                enum http_status status;
                bool ends;
        } rows[] = {
                { HTTP_BODY_NONE, 0, "abc", 0, HTTP_DONE, true },
                { HTTP_BODY_LENGTH, 0, "abc", 0, HTTP_DONE, true },
                { HTTP_BODY_LENGTH, 3, "abc", 3, HTTP_DONE, true },
                { HTTP_BODY_LENGTH, 3, "abcd", 3, HTTP_DONE, true },
                { HTTP_BODY_LENGTH, 4, "abc", 3, HTTP_MORE, false },
                { HTTP_BODY_CLOSE, 0, "abc", 3, HTTP_MORE, true },
                { HTTP_BODY_CHUNKED, 0, "0\r\n\r\n", 5, HTTP_DONE, true },
                { HTTP_BODY_CHUNKED, 0, "0\r\n\r\nHTTP", 5, HTTP_DONE, true },
                { HTTP_BODY_CHUNKED, 0, "3\r\nabc\r\n0000\r\n\r\n", 16, HTTP_DONE, true },
                { HTTP_BODY_CHUNKED, 0, "A;x=\"y\"\r\n0123456789\r\n0 \r\nT: v\r\nU:\r\n\r\n", 37, HTTP_DONE, true },
                { HTTP_BODY_CHUNKED, 0, "3\r\nabc\r\n", 8, HTTP_MORE, false },
                { HTTP_BODY_CHUNKED, 0, "0\r\n", 3, HTTP_MORE, false },
                { HTTP_BODY_CHUNKED, 0, "3\r\nabcd", 6, HTTP_REFUSED, false },
                { HTTP_BODY_CHUNKED, 0, "3\nabc", 1, HTTP_REFUSED, false },
                { HTTP_BODY_CHUNKED, 0, "\r\n", 0, HTTP_REFUSED, false },
                { HTTP_BODY_CHUNKED, 0, ";\r\n", 0, HTTP_REFUSED, false },
                { HTTP_BODY_CHUNKED, 0, "-1\r\n", 0, HTTP_REFUSED, false },
                { HTTP_BODY_CHUNKED, 0, "0x1\r\n", 1, HTTP_REFUSED, false },
                { HTTP_BODY_CHUNKED, 0, "3\r\nabc\n", 6, HTTP_REFUSED, false },
                { HTTP_BODY_CHUNKED, 0, "0\r\nT: v\n", 7, HTTP_REFUSED, false },
                { HTTP_BODY_CHUNKED, 0, "0\r\n T: v\r\n", 3, HTTP_REFUSED, false },
                { HTTP_BODY_CHUNKED, 0, "0\r\n\rx", 4, HTTP_REFUSED, false },
                { HTTP_BODY_CHUNKED, 0, "ffffffffffffffff\r\n", 15, HTTP_REFUSED, false },
        };

        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(rows); i++)
                for (size_t piece = 1; piece < 100; piece += 98) {
                        struct http_body body;
                        size_t at;

                        http_body_begin(&body, rows[i].framing, rows[i].length);
                        at = feed_body(&body, rows[i].text, piece);
                        if (at != rows[i].used || body.status != rows[i].status)
                                print_message("%s %zu\n", rows[i].text, at);
                        assert_int_equal(at, rows[i].used);
                        assert_int_equal(body.status, rows[i].status);
                        assert_int_equal(http_body_ends(&body), rows[i].ends);
                        assert_int_equal(body.refusal, rows[i].status == HTTP_REFUSED ? REFUSAL_ORIGIN_CHUNKS : REFUSAL_NONE);
                }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(an_answer_is_written_anew),
                cmocka_unit_test(the_framing_is_told),
                cmocka_unit_test(what_is_no_answer_is_refused),
                cmocka_unit_test(a_hundred_fields_and_no_more),
                cmocka_unit_test(a_body_ends_in_one_place),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
