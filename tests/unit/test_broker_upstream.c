/* What an upstream proxy may answer to CONNECT, and what we write to it. */
#include "unit.h"

#include "broker/upstream.h"

struct answer {
        const char *text;
        enum upstream_status status;
        enum refusal refusal;
        uint16_t code;
        size_t used;
};

#define OK "HTTP/1.1 200 OK\r\n"

static const struct answer answers[] = {
        { OK "\r\n", UPSTREAM_DONE, 0, 200, 19 },
        { "HTTP/1.0 200 Connection established\r\n\r\n", UPSTREAM_DONE, 0, 200, 39 },
        { "HTTP/1.1 200 \r\n\r\n", UPSTREAM_DONE, 0, 200, 17 },
        { "HTTP/1.1 299 \xc3\xa9\r\nA:\r\nB-2: x\ty\r\n\r\n", UPSTREAM_DONE, 0, 299, 33 },
        { OK "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\nhello", UPSTREAM_DONE, 0, 200, 66 },
        { "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: x\r\n\r\n" OK "\r\n", UPSTREAM_DONE, 0, 200, 75 },
        { "HTTP/1.1 407 Proxy Authentication Required\r\n", UPSTREAM_REFUSED, REFUSAL_PROXY_AUTHENTICATION, 407, 44 },
        { "HTTP/1.1 403 Forbidden\r\nContent-Length: 3\r\n\r\nno.", UPSTREAM_REFUSED, REFUSAL_PROXY_REFUSED, 403, 24 },
        { "HTTP/1.1 302 Found\r\n", UPSTREAM_REFUSED, REFUSAL_PROXY_REFUSED, 302, 20 },
        { "HTTP/1.1 503 \r\n", UPSTREAM_REFUSED, REFUSAL_PROXY_REFUSED, 503, 15 },
        { "", UPSTREAM_MORE, 0, 0, 0 },
        { OK "A: b\r\n", UPSTREAM_MORE, 0, 200, 23 },
        { OK "\r", UPSTREAM_MORE, 0, 200, 18 },
};

static const char *const malformed[] = {
        "HTTP/1.1 101 Switching Protocols\r\n",
        "HTTP/1.1 099 x\r\n",
        "HTTP/1.1 600 x\r\n",
        "HTTP/1.1 2000 x\r\n",
        "HTTP/1.1 20 x\r\n",
        "HTTP/1.1 +20 x\r\n",
        "HTTP/1.1  200 x\r\n",
        "HTTP/1.1 200\r\n",
        "HTTP/1.2 200 x\r\n",
        "HTTP/2 200 x\r\n",
        "http/1.1 200 x\r\n",
        "ICY 200 OK\r\n",
        "\r\n" OK "\r\n",
        "\n",
        OK "\n",
        "HTTP/1.1 200 OK\n\n",
        "HTTP/1.1 200 O\rK\r\n",
        OK "A: b\rc\r\n",
        OK "A: b\n\r\n",
        OK " A: b\r\n",
        OK "A: b\r\n c\r\n",
        OK "A: b\r\n\tc\r\n",
        OK "A : b\r\n",
        OK "A\r\n",
        OK ": b\r\n",
        OK "A\x80: b\r\n",
        OK "A: \x01\r\n",
        OK "A: \x7f\r\n",
        "HTTP/1.1 200 \x1b[2J\r\n",
        "SSH-2.0-x\r\n",
        "\x16\x03\x01",
        OK "\r\r\n",
};

static size_t feed(struct upstream_answer *answer, const char *text, size_t n, size_t piece) {
        size_t at = 0, used;

        while (at < n && answer->status == UPSTREAM_MORE) {
                upstream_feed(answer, text + at, n - at < piece ? n - at : piece, &used);
                at += used;
        }
        return at;
}

static void answers_are_read_to_the_end_of_their_head(void **state) {
        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(answers); i++)
                for (size_t piece = 1; piece < 80; piece++) {
                        struct upstream_answer answer = { 0 };
                        size_t used = feed(&answer, answers[i].text, strlen(answers[i].text), piece);

                        if (answer.status == answers[i].status && answer.refusal == answers[i].refusal && answer.code == answers[i].code &&
                                used == answers[i].used)
                                continue;
                        print_error("%s\nstatus %d, refusal %d, code %d, used %zu\n", answers[i].text, answer.status, answer.refusal,
                                answer.code, used);
                        abort();
                }
}

static void what_is_no_answer_is_refused(void **state) {
        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(malformed); i++)
                for (size_t piece = 1; piece < 40; piece++) {
                        struct upstream_answer answer = { 0 };

                        feed(&answer, malformed[i], strlen(malformed[i]), piece);
                        if (answer.status == UPSTREAM_REFUSED && answer.refusal == REFUSAL_PROXY_ANSWER)
                                continue;
                        print_error("%s\nstatus %d, refusal %d\n", malformed[i], answer.status, answer.refusal);
                        abort();
                }
}

static enum upstream_status fed(const char *before, size_t n, const char *unit, const char *behind) {
        _cleanup_str_ struct str text = { 0 };
        struct upstream_answer answer = { 0 };

        str_puts(&text, before);
        for (size_t i = 0; i < n; i++)
                str_puts(&text, unit);
        str_puts(&text, behind);
        feed(&answer, text.text, text.size, text.size);
        return answer.status;
}

static void an_answer_has_its_limits(void **state) {
        (void)state;
        assert_int_equal(fed("", UPSTREAM_INTERIM_MAX, "HTTP/1.1 100 x\r\n\r\n", OK "\r\n"), UPSTREAM_DONE);
        assert_int_equal(fed("", UPSTREAM_INTERIM_MAX + 1, "HTTP/1.1 100 x\r\n\r\n", OK "\r\n"), UPSTREAM_REFUSED);
        assert_int_equal(fed(OK "A:", UPSTREAM_LINE_MAX - 2, "x", "\r\n\r\n"), UPSTREAM_DONE);
        assert_int_equal(fed(OK "A:", UPSTREAM_LINE_MAX - 1, "x", "\r\n\r\n"), UPSTREAM_REFUSED);
        assert_int_equal(fed("HTTP/1.1 200 ", UPSTREAM_LINE_MAX - 13, "x", "\r\n\r\n"), UPSTREAM_DONE);
        assert_int_equal(fed("HTTP/1.1 200 ", UPSTREAM_LINE_MAX - 12, "x", "\r\n\r\n"), UPSTREAM_REFUSED);
        assert_int_equal(fed(OK "\r\n", 0, "", ""), UPSTREAM_DONE);
        /* 17 + 4 × n + 2 bytes, and the limit counts them all. */
        assert_int_equal(fed(OK, (UPSTREAM_HEAD_MAX - 19) / 4, "A:\r\n", "\r\n"), UPSTREAM_DONE);
        assert_int_equal(fed(OK, (UPSTREAM_HEAD_MAX - 19) / 4 + 1, "A:\r\n", "\r\n"), UPSTREAM_REFUSED);
}

static void a_request_names_the_address_alone(void **state) {
        const struct address v4 = address_from_bytes(false, (const uint8_t[]){ 93, 184, 216, 34 });
        const struct address v6 = address_from_bytes(true, (const uint8_t[16]){ 0x20, 1, 0x0d, 0xb8, [15] = 1 });
        _cleanup_str_ struct str out = { 0 };

        (void)state;
        upstream_request(&v4, 443, &out);
        assert_string_equal(out.text, "CONNECT 93.184.216.34:443 HTTP/1.1\r\nHost: 93.184.216.34:443\r\n\r\n");
        out.size = 0;
        upstream_request(&v6, 80, &out);
        assert_string_equal(out.text, "CONNECT [2001:db8::1]:80 HTTP/1.1\r\nHost: [2001:db8::1]:80\r\n\r\n");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(answers_are_read_to_the_end_of_their_head),
                cmocka_unit_test(what_is_no_answer_is_refused),
                cmocka_unit_test(an_answer_has_its_limits),
                cmocka_unit_test(a_request_names_the_address_alone),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
