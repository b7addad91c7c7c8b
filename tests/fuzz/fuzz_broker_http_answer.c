/* libFuzzer: [flags][size of the pieces][what an origin answers]. Cut or whole, the result is the same; the head that goes on is one by the
 * same grammar and says the same; of the body goes on what came, up to one end. flags: 1 the request was HEAD. */
#define _GNU_SOURCE
#include "fuzz.h"

#include "broker/http_body.h"

struct reading {
        struct http_answer answer;
        struct http_body body;
        size_t head, end; /* where they end */
};

static void read_all(struct reading *r, const char *method, const char *text, size_t n, size_t piece) {
        size_t used;

        http_answer_begin(&r->answer, method);
        while (r->head < n && r->answer.status == HTTP_MORE) {
                http_answer_feed(&r->answer, text + r->head, n - r->head < piece ? n - r->head : piece, &used);
                r->head += used;
        }
        r->end = r->head;
        if (r->answer.status != HTTP_DONE)
                return;
        http_body_begin(&r->body, r->answer.framing, r->answer.length);
        while (r->end < n && r->body.status == HTTP_MORE) {
                http_body_feed(&r->body, text + r->end, n - r->end < piece ? n - r->end : piece, &used);
                r->end += used;
                if (r->body.status == HTTP_REFUSED)
                        break;
        }
}

static void check_forwarded(const struct http_answer *answer, const char *method) {
        _cleanup_http_answer_ struct http_answer again = { 0 };
        _cleanup_str_ struct str out = { 0 };
        size_t used;

        http_answer_write(answer, &out);
        http_answer_begin(&again, method);
        http_answer_feed(&again, out.text, out.size, &used);
        /* Our own field may be too much for one who used every limit. */
        if (again.status == HTTP_REFUSED && answer->n_fields >= HTTP_FIELDS_MAX - 1)
                return;
        if (again.status == HTTP_REFUSED && out.size >= HTTP_HEAD_MAX - 64)
                return;
        expect(again.status == HTTP_DONE && used == out.size, "what goes on is one head and nothing behind it");
        expect(again.code == answer->code && again.framing == answer->framing && again.length == answer->length, "that says the same");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        struct reading whole = { 0 }, cut = { 0 };
        const char *text = (const char *)data + 2, *method;

        if (size < 2)
                return 0;
        method = data[0] & 1 ? "HEAD" : "GET";
        read_all(&whole, method, text, size - 2, SIZE_MAX);
        read_all(&cut, method, text, size - 2, 1 + data[1] % 64u);
        expect(whole.answer.status == cut.answer.status && whole.answer.refusal == cut.answer.refusal, "cuts make no difference");
        expect(whole.head == cut.head && whole.end == cut.end, "to where it ends");
        expect(whole.body.status == cut.body.status && http_body_ends(&whole.body) == http_body_ends(&cut.body), "or to its body");
        expect((whole.answer.status == HTTP_REFUSED) == (whole.answer.refusal != REFUSAL_NONE), "a refusal has its reason");
        if (whole.answer.status == HTTP_DONE)
                check_forwarded(&whole.answer, method);
        http_answer_free(&whole.answer);
        http_answer_free(&cut.answer);
        return 0;
}
