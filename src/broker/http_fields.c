#define _GNU_SOURCE
#include "broker/http_fields.h"

#include "broker/http_text.h"

typedef enum refusal field_rule(struct http_head *head, const char *value, size_t n);

static enum refusal host(struct http_head *head, const char *value, size_t n) {
        if (head->has_host)
                return REFUSAL_HOST_FIELD;
        head->has_host = true;
        return authority_parse(value, n, head->connect ? head->authority.port : 80, &head->host);
}

/* RFC 9110, 8.6. A second one is refused even where it says the same, and so are the spellings that not all readers take. */
static enum refusal content_length(struct http_head *head, const char *value, size_t n) {
        uint64_t length = 0;

        if (head->has_length || n == 0 || n > 19 || (value[0] == '0' && n > 1))
                return REFUSAL_FRAMING;
        for (size_t i = 0; i < n; i++) {
                if (value[i] < '0' || value[i] > '9')
                        return REFUSAL_FRAMING;
                length = length * 10 + (uint64_t)(value[i] - '0');
        }
        head->has_length = true;
        head->content_length = length;
        return REFUSAL_NONE;
}

/* Whatever its value is: reading that value is where proxies have been wrong. */
static enum refusal transfer_encoding(struct http_head *head, const char *value, size_t n) {
        (void)value, (void)n;
        head->has_transfer_encoding = true;
        return REFUSAL_NONE;
}

/* RFC 9110, 10.1.1: answered by us. */
static enum refusal expect(struct http_head *head, const char *value, size_t n) {
        if (!http_equal(value, n, "100-continue"))
                return REFUSAL_EXPECT;
        head->expect_continue = true;
        return REFUSAL_NONE;
}

static enum refusal upgrade(struct http_head *head, const char *value, size_t n) {
        (void)head, (void)value, (void)n;
        return REFUSAL_UPGRADE;
}

static enum refusal max_forwards(struct http_head *head, const char *value, size_t n) {
        head->last_hop = head->last_hop || http_equal(value, n, "0");
        return REFUSAL_NONE;
}

/* What Connection may not take away: a client could drop what the origin decides by, or what we do. */
static const char *const kept[] = { "authorization", "content-length", "cookie", "host", "transfer-encoding" };

static enum refusal connection(struct http_head *head, const char *value, size_t n) {
        (void)head;
        for (const char *end = value + n; value <= end;) {
                const char *comma = memchr(value, ',', (size_t)(end - value)), *token = value;
                size_t size = (size_t)((comma ? comma : end) - token);

                http_trim(&token, &size);
                if (!http_is_token(token, size))
                        return REFUSAL_CONNECTION;
                if (http_equal(token, size, "upgrade"))
                        return REFUSAL_UPGRADE;
                for (size_t i = 0; i < ELEMENTSOF(kept); i++)
                        if (http_equal(token, size, kept[i]))
                                return REFUSAL_CONNECTION;
                value = comma ? comma + 1 : end + 1;
        }
        return REFUSAL_NONE;
}

static const struct field_row {
        const char *name;
        field_rule *rule;
        bool forwarded;
} known_fields[] = {
        { "connection", connection },
        { "content-length", content_length },
        { "expect", expect },
        { "host", host },
        { "http2-settings", upgrade },
        { "keep-alive", NULL },
        { "max-forwards", max_forwards, .forwarded = true },
        { "proxy-authenticate", NULL },
        { "proxy-authorization", NULL },
        { "proxy-connection", NULL },
        { "te", NULL },
        { "trailer", NULL },
        { "transfer-encoding", transfer_encoding },
        { "upgrade", upgrade },
};

enum refusal http_field_parse(struct http_head *head, const char *text, size_t n) {
        struct http_field *field = &head->fields[head->n_fields];
        enum refusal refusal = head->n_fields == HTTP_FIELDS_MAX ? REFUSAL_HEAD_LIMIT : http_field_split(&head->lines, text, n, field);
        size_t n_name, n_value;
        const char *value;

        if (refusal)
                return refusal;
        head->n_fields++;
        n_name = field->n_name, n_value = field->n_value;
        value = head->lines.bytes.text + field->value;
        if (n_name > 14 && http_equal(text, 14, "sec-websocket-"))
                return REFUSAL_UPGRADE;
        for (size_t i = 0; i < ELEMENTSOF(known_fields); i++) {
                const struct field_row *row = &known_fields[i];

                if (!http_equal(text, n_name, row->name))
                        continue;
                field->dropped = !row->forwarded;
                return row->rule ? row->rule(head, value, n_value) : REFUSAL_NONE;
        }
        return REFUSAL_NONE;
}

void http_fields_drop_hops(struct http_head *head) {
        http_drop_hops(&head->lines, head->fields, head->n_fields);
}
