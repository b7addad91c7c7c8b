#define _GNU_SOURCE
#include "broker/http_head.h"

#include <stdlib.h>

#include "broker/http_fields.h"
#include "broker/http_text.h"

/* Case matters (RFC 9110, 9.1): "connect" is another method than CONNECT, and none we know. TRACE would echo what a client may not read. */
static const char *const methods[] = { "CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT" };
#define METHOD_MAX 32u

void http_head_free(struct http_head *head) {
        str_free(&head->lines.bytes);
}

static enum refusal parse_method(struct http_head *head, const char *text, size_t n) {
        if (n == 0 || n > METHOD_MAX || !http_is_token(text, n))
                return REFUSAL_REQUEST_LINE;
        for (size_t i = 0; i < ELEMENTSOF(methods); i++)
                if (strlen(methods[i]) == n && memcmp(methods[i], text, n) == 0)
                        head->method = methods[i];
        head->connect = head->method == methods[0];
        return head->method ? REFUSAL_NONE : REFUSAL_METHOD;
}

static enum refusal parse_version(struct http_head *head, const char *text, size_t n) {
        if (n < 5 || memcmp(text, "HTTP/", 5) != 0)
                return REFUSAL_REQUEST_LINE;
        if (n != 8 || (memcmp(text + 5, "1.1", 3) != 0 && memcmp(text + 5, "1.0", 3) != 0))
                return REFUSAL_VERSION;
        head->http10 = text[7] == '0';
        return REFUSAL_NONE;
}

/* RFC 3986: what may not stand in a URI without an escape, beside blanks and controls, which never come this far. The fragment is not sent
 * to a server at all. */
static enum refusal check_target(const char *text, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (memchr("<>\"{}|\\^`#", text[i], 10))
                        return REFUSAL_TARGET;
        return n ? REFUSAL_NONE : REFUSAL_REQUEST_LINE;
}

/* RFC 9112, 3.2.2. AT is where the text stands in the head. */
static enum refusal parse_absolute_form(struct http_head *head, const char *text, size_t n, size_t at) {
        static const char scheme[] = "http://";
        size_t skip = strlen(scheme), end;

        if (n >= 8 && http_equal(text, 8, "https://"))
                return REFUSAL_USE_CONNECT;
        if (n < skip || !http_equal(text, skip, scheme))
                return text[0] == '/' || text[0] == '*' || !memmem(text, n, "://", 3) ? REFUSAL_TARGET_FORM : REFUSAL_TARGET_SCHEME;
        for (end = skip; end < n && text[end] != '/' && text[end] != '?';)
                end++;
        head->target = (uint16_t)(at + end);
        head->n_target = (uint16_t)(n - end);
        return authority_parse(text + skip, end - skip, 80, &head->authority);
}

/* RFC 9112, 3: method SP target SP version, and nothing more lenient. */
static enum refusal parse_request_line(struct http_head *head, const char *text, size_t n) {
        const char *first = memchr(text, ' ', n), *target = first ? first + 1 : NULL;
        const char *second = first ? memchr(target, ' ', n - (size_t)(target - text)) : NULL;
        size_t n_target = second ? (size_t)(second - target) : 0;
        enum refusal refusal;

        if (!second || memchr(second + 1, ' ', n - (size_t)(second + 1 - text)))
                return REFUSAL_REQUEST_LINE;
        if ((refusal = parse_version(head, second + 1, n - (size_t)(second + 1 - text))) ||
                (refusal = parse_method(head, text, (size_t)(first - text))) || (refusal = check_target(target, n_target)))
                return refusal;
        if (head->connect)
                return authority_parse(target, n_target, 0, &head->authority);
        return parse_absolute_form(head, target, n_target, (size_t)(target - text));
}

static enum refusal parse_line(struct http_head *head, const char *text, size_t n) {
        return head->lines.start == 0 ? parse_request_line(head, text, n) : http_field_parse(head, text, n);
}

/* What only the whole head tells. */
static enum refusal check_head(struct http_head *head) {
        const struct authority *a = &head->authority, *h = &head->host;

        if (!head->has_host && !head->http10)
                return REFUSAL_HOST_FIELD;
        /* CONNECT's Host may leave the port out: several clients do. */
        if (head->has_host && (!authority_equal_host(a, h) || h->port != a->port))
                return REFUSAL_HOST_DIFFERS;
        if (head->has_transfer_encoding)
                return head->has_length || head->connect ? REFUSAL_FRAMING : REFUSAL_CHUNKED;
        if (head->connect && head->content_length)
                return REFUSAL_FRAMING;
        head->expect_continue = head->expect_continue && !head->http10; /* RFC 9110, 10.1.1 */
        head->answer_self = head->last_hop && streq(head->method, "OPTIONS");
        http_fields_drop_hops(head);
        return REFUSAL_NONE;
}

static enum refusal end_of_line(struct http_head *head) {
        size_t n;
        const char *text = http_lines_last(&head->lines, &n);
        enum refusal refusal;

        if (n == 0 && head->lines.start > 0) {
                if ((refusal = check_head(head)))
                        return refusal;
                head->status = HTTP_DONE;
                return REFUSAL_NONE;
        }
        if ((refusal = parse_line(head, text, n)))
                return refusal;
        http_lines_next(&head->lines);
        return REFUSAL_NONE;
}

static enum refusal add_byte(struct http_head *head, char c) {
        bool line;
        enum refusal refusal = http_lines_add(&head->lines, c, &line);

        return refusal || !line ? refusal : end_of_line(head);
}

enum http_status http_head_feed(struct http_head *head, const char *data, size_t n, size_t *ret_used) {
        size_t used = 0;

        http_lines_expect(&head->lines, n);
        while (used < n && head->status == HTTP_MORE) {
                used += http_lines_add_text(&head->lines, data + used, n - used);
                if (used == n)
                        break;
                head->refusal = add_byte(head, data[used++]);
                if (head->refusal)
                        head->status = HTTP_REFUSED;
        }
        *ret_used = used;
        return head->status;
}

void http_head_write(const struct http_head *head, struct str *out) {
        const char *text = head->lines.bytes.text, *slash = head->n_target == 0 || text[head->target] == '?' ? "/" : "";

        /* RFC 9112, 3.2.4: OPTIONS for a URI with neither path nor query is about the server as a whole. */
        if (head->n_target == 0 && streq(head->method, "OPTIONS"))
                slash = "*";
        str_reserve(out, head->lines.bytes.size + 64);
        str_puts(out, head->method);
        str_putc(out, ' ');
        str_puts(out, slash);
        str_add(out, text + head->target, head->n_target);
        str_puts(out, head->http10 ? " HTTP/1.0\r\nHost: " : " HTTP/1.1\r\nHost: ");
        str_puts(out, authority_print(&head->authority, 80).text);
        str_puts(out, "\r\n");
        http_write_fields(&head->lines, head->fields, head->n_fields, out);
        if (head->has_length)
                http_write_length(head->content_length, out);
        /* RFC 9110, 7.6.3 wants every proxy in Via; ours says nothing of the host it runs on. */
        str_puts(out, "Via: 1.1 sage\r\nConnection: close\r\n\r\n");
}
