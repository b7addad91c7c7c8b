/* libFuzzer: [flags][size of the pieces][what one side sends]. Flags: 1 ECH allowed, 2 the destination is an address, 4 a second hello,
 * 8 with early data before it, 16 the bytes are the server's. Cut or whole, the result is the same. */
#include "fuzz.h"

#include "broker/tls_hello.h"

static size_t feed_hello(struct tls_hello *hello, const uint8_t *data, size_t n, size_t piece) {
        size_t at = 0, used;

        while (at < n && hello->status == TLS_MORE) {
                tls_hello_feed(hello, data + at, n - at < piece ? n - at : piece, &used);
                at += used;
        }
        return at;
}

static size_t feed_answer(struct tls_answer_state *state, const uint8_t *data, size_t n, size_t piece) {
        size_t at = 0, used;

        while (at < n && state->answer == TLS_ANSWER_MORE) {
                tls_answer_feed(state, data + at, n - at < piece ? n - at : piece, &used);
                at += used;
        }
        return at;
}

static void begin(struct tls_hello *hello, const struct authority *authority, uint8_t flags) {
        struct tls_hello first = { .authority = authority, .allow_ech = flags & 1, .has_name = true, .early_data = flags & 8 };

        if (flags & 4)
                tls_hello_begin_second(hello, &first);
        else
                tls_hello_begin(hello, authority, flags & 1);
}

static void check_answer(const uint8_t *data, size_t size, size_t piece) {
        _cleanup_tls_answer_ struct tls_answer_state whole = { 0 }, cut = { 0 };
        size_t a = feed_answer(&whole, data, size, SIZE_MAX), b = feed_answer(&cut, data, size, piece);

        expect(whole.answer == cut.answer && whole.refusal == cut.refusal && a == b, "cuts make no difference");
        expect((whole.answer == TLS_ANSWER_REFUSED) == (whole.refusal != REFUSAL_NONE), "a refusal has its reason");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        static const char name[] = "a.example", address[] = "192.0.2.1";
        _cleanup_tls_hello_ struct tls_hello whole = { 0 }, cut = { 0 };
        struct authority authority;
        size_t a, b, piece;

        if (size < 2)
                return 0;
        piece = 1 + data[1] % 64u;
        if (data[0] & 16)
                return check_answer(data + 2, size - 2, piece), 0;
        authority_parse_host(data[0] & 2 ? address : name, 9, &authority);
        begin(&whole, &authority, data[0]);
        begin(&cut, &authority, data[0]);
        a = feed_hello(&whole, data + 2, size - 2, SIZE_MAX);
        b = feed_hello(&cut, data + 2, size - 2, piece);
        expect(whole.status == cut.status && whole.refusal == cut.refusal && a == b, "cuts make no difference");
        expect((whole.status == TLS_REFUSED) == (whole.refusal != REFUSAL_NONE), "a refusal has its reason");
        if (whole.status != TLS_DONE)
                return 0;
        expect(whole.has_name == cut.has_name && whole.early_data == cut.early_data, "and the same of both");
        expect(whole.has_name || data[0] & 2, "a name is named");
        /* Where all of it is one record, the name stands in it as it is. */
        if (whole.has_name && !(data[0] & 2) && whole.stream.records == 1) {
                bool found = false;

                for (size_t i = 2; i + 9 <= size && !found; i++) {
                        struct authority there;

                        found = authority_parse_host((const char *)data + i, 9, &there) == REFUSAL_NONE &&
                                authority_equal_host(&there, &authority);
                }
                expect(found, "the name that was checked is in the hello");
        }
        return 0;
}
