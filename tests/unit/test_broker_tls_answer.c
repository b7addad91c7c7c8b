/* ServerHello, as far as anybody in between can tell; and what is no answer in TLS. */
#include "tls_records.h"

#include "broker/tls_hello.h"

#define RETRY \
        "\xcf\x21\xad\x74\xe5\x9a\x61\x11\xbe\x1d\x8c\x02\x1e\x65\xb8\x91" \
        "\xc2\xa2\x11\x16\x7a\xbb\x8c\x5e\x07\x9e\x09\xe2\xc8\xa8\x33\x9c"
#define PLAIN "RRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRR"

static void the_servers_first_message_is_told(void **state) {
        static const struct {
                const char *message;
                size_t n, record;
                enum tls_answer answer;
        } rows[] = {
                { "\2\0\0\x26\3\3" PLAIN "\0\x13\1\0", 42, 42, TLS_ANSWER_HELLO },
                { "\2\0\0\x26\3\3" RETRY "\0\x13\1\0", 42, 42, TLS_ANSWER_RETRY },
                { "\2\0\0\x26\3\3" RETRY "\0\x13\1\0", 42, 1, TLS_ANSWER_RETRY },
                { "\2\0\0\x26\3\3" PLAIN "\0\x13\1\0\x0b\0\0\1x", 47, 47, TLS_ANSWER_HELLO }, /* TLS 1.2: the certificate follows */
                { "\2\0\0\x26\3\3" RETRY "\0\x13\1\0\x0b\0\0\1x", 47, 47, TLS_ANSWER_RETRY },
                { "\2\0\0\x21\3\3RRRRRRRRRRRRRRRRRRRRRRRRRRRRRRR", 37, 37, TLS_ANSWER_REFUSED }, /* no room for a random */
                { "\2\0\0\x22\3\3" RETRY, 38, 38, TLS_ANSWER_RETRY },                            /* just room */
                { "\2\0\0\0", 4, 4, TLS_ANSWER_REFUSED },
                { "\1\0\0\x26\3\3" PLAIN "\0\x13\1\0", 42, 42, TLS_ANSWER_REFUSED },
                { "\0\0\0\0", 4, 4, TLS_ANSWER_REFUSED }, /* HelloRequest */
                { "\2\0\0\x26\3\3" RETRY, 38, 38, TLS_ANSWER_MORE },
        };
        static const size_t pieces[] = { 1, 3, SIZE_MAX };

        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(rows); i++)
                for (size_t k = 0; k < ELEMENTSOF(pieces); k++) {
                        _cleanup_tls_answer_ struct tls_answer_state answer = { 0 };
                        _cleanup_str_ struct str s = { 0 };
                        size_t used;

                        put_records(&s, rows[i].message, rows[i].n, rows[i].record);
                        for (size_t at = 0; at < s.size && answer.answer == TLS_ANSWER_MORE; at += used)
                                tls_answer_feed(
                                        &answer, (const uint8_t *)s.text + at, s.size - at < pieces[k] ? s.size - at : pieces[k], &used);
                        if (answer.answer == rows[i].answer && (answer.answer == TLS_ANSWER_REFUSED) == (answer.refusal != REFUSAL_NONE))
                                continue;
                        print_error("row %zu, pieces of %zu: %d %s\n", i, pieces[k], answer.answer, refusal_row(answer.refusal)->code);
                        abort();
                }
}

static void a_server_that_does_not_answer_in_tls_is_told(void **state) {
        static const struct {
                const char *data;
                size_t n;
                enum tls_answer answer;
        } rows[] = {
                { "HTTP/1.1 200", 12, TLS_ANSWER_REFUSED }, { "\x15\3\3\0\2\2\x28", 7, TLS_ANSWER_ALERT },
                { "\x15\3\3\0", 4, TLS_ANSWER_MORE }, { "\x15\3\3\0\0", 5, TLS_ANSWER_REFUSED },
                { "\x15\3\3\0\2\1\x70", 7, TLS_ANSWER_MORE }, /* a warning */
                { "\x15\3\3\0\2\1\x70\x15\3\3\0\2\2\x28", 14, TLS_ANSWER_ALERT }, { "\x15\3\3\0\2\1\x70HTTP", 11, TLS_ANSWER_REFUSED },
                { "\x15\3\3\0\2\0\x70", 7, TLS_ANSWER_ALERT }, { "\x15\3\3\0\1\1", 6, TLS_ANSWER_REFUSED },
                { "\x15\3\3\0\3\1\x70\0", 8, TLS_ANSWER_REFUSED },
                { "\x15\3\3\0\2\1\x70\x16\3\3\0\x2a\2\0\0\x26\3\3" RETRY "\0\x13\1\0", 54, TLS_ANSWER_RETRY },
                { "\x15\3\3\0\2\1\x70\x16\3\3\0\x2a\2\0\0\x26\3\3" PLAIN "\0\x13\1\0", 54, TLS_ANSWER_HELLO },
                { "\x14\3\3\0\1\1", 6, TLS_ANSWER_REFUSED }, { "\x17\3\3\0\1x", 6, TLS_ANSWER_REFUSED },
                { "\x16\3\3\0\4\2\0\0\x26\x15\3\3\0\2\2\x28", 16, TLS_ANSWER_REFUSED }, /* an alert in the middle */
        };

        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_tls_answer_ struct tls_answer_state answer = { 0 };
                size_t used;

                if (tls_answer_feed(&answer, (const uint8_t *)rows[i].data, rows[i].n, &used) == rows[i].answer)
                        continue;
                print_error("row %zu: %d\n", i, answer.answer);
                abort();
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_servers_first_message_is_told),
                cmocka_unit_test(a_server_that_does_not_answer_in_tls_is_told),
        };

        return RUN_TESTS(tests);
}
