/* libFuzzer: [size of the pieces][the head]. Cut or whole, the result is the same; what goes on is a request that says the same again. */
#define _GNU_SOURCE
#include "fuzz.h"

#include "broker/http_head.h"

static size_t feed(struct http_head *head, const char *text, size_t n, size_t piece) {
        size_t at = 0, used;

        while (at < n && head->status == HTTP_MORE) {
                http_head_feed(head, text + at, n - at < piece ? n - at : piece, &used);
                at += used;
        }
        return at;
}

/* The origin reads it by the same grammar, once its target is absolute again. */
static void check_forwarded(const struct http_head *head) {
        _cleanup_http_head_ struct http_head again = { 0 };
        _cleanup_str_ struct str out = { 0 }, text = { 0 };
        const char *target;
        size_t host = strlen(authority_print(&head->authority, 80).text);

        http_head_write(head, &out);
        expect(memmem(out.text, out.size, "\r\n\r\n", 4) == out.text + out.size - 4, "one head and nothing behind it");
        target = strchr(out.text, ' ') + 1;
        str_add(&text, out.text, (size_t)(target - out.text));
        str_printf(&text, "http://%s", authority_print(&head->authority, 80).text);
        str_puts(&text, *target == '*' ? target + 1 : target);
        feed(&again, text.text, text.size, SIZE_MAX);
        /* Our own fields may be too much for one who used every limit. */
        if (again.refusal == REFUSAL_HEAD_LIMIT || again.refusal == REFUSAL_LINE_LIMIT)
                return;
        expect(again.status == HTTP_DONE, "what goes on is a request");
        expect(authority_equal_host(&again.authority, &head->authority) && again.authority.port == head->authority.port,
               "to the same host");
        expect(again.content_length == head->content_length && again.has_length == head->has_length, "with the same body");
        expect(again.method == head->method && host > 0, "and method");
        expect(!again.has_transfer_encoding && !again.expect_continue, "and nothing of the hop before");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_http_head_ struct http_head whole = { 0 }, cut = { 0 };
        const char *text = (const char *)data + 1;
        size_t a, b;

        if (size < 1)
                return 0;
        a = feed(&whole, text, size - 1, SIZE_MAX);
        b = feed(&cut, text, size - 1, 1 + data[0] % 64u);
        expect(whole.status == cut.status && whole.refusal == cut.refusal && a == b, "cuts make no difference");
        expect((whole.status == HTTP_REFUSED) == (whole.refusal != REFUSAL_NONE), "a refusal has its reason");
        expect(whole.refusal < REFUSAL_COUNT, "of the list");
        if (whole.status != HTTP_DONE)
                return 0;
        expect(whole.authority.port > 0 && whole.authority.host[0], "there is a destination");
        expect(whole.connect == cut.connect && whole.content_length == cut.content_length, "and the same of both");
        expect(!whole.connect || whole.content_length == 0, "CONNECT has no body");
        if (!whole.connect)
                check_forwarded(&whole);
        return 0;
}
