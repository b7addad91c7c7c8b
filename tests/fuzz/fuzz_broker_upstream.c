/* libFuzzer: [size of the pieces][what an upstream answers]. Cut or whole, the result is the same, and a tunnel that stands begins right
 * behind an empty line. */
#define _GNU_SOURCE
#include "fuzz.h"

#include "broker/upstream.h"

static size_t feed(struct upstream_answer *answer, const char *text, size_t n, size_t piece) {
        size_t at = 0, used;

        while (at < n && answer->status == UPSTREAM_MORE) {
                upstream_feed(answer, text + at, n - at < piece ? n - at : piece, &used);
                at += used;
        }
        return at;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        struct upstream_answer whole = { 0 }, cut = { 0 };
        const char *text = (const char *)data + 1;
        size_t a, b;

        if (size < 1)
                return 0;
        a = feed(&whole, text, size - 1, SIZE_MAX);
        b = feed(&cut, text, size - 1, 1 + data[0] % 64u);
        expect(whole.status == cut.status && whole.refusal == cut.refusal && whole.code == cut.code && a == b, "cuts make no difference");
        expect((whole.status == UPSTREAM_REFUSED) == (whole.refusal != REFUSAL_NONE), "a refusal has its reason");
        expect(a <= UPSTREAM_HEAD_MAX + 1, "no more than a head is read");
        if (whole.status != UPSTREAM_DONE)
                return 0;
        expect(whole.code >= 200 && whole.code <= 299, "only success makes a tunnel");
        expect(a >= 4 && memcmp(text + a - 4, "\r\n\r\n", 4) == 0, "behind an empty line");
        expect(memmem(text, a, "HTTP/1.", 7) == text, "of an answer");
        return 0;
}
