#define _GNU_SOURCE
#include "broker/http_answer.h"

#include "broker/http_text.h"

void http_answer_begin(struct http_answer *answer, const char *method) {
        *answer = (struct http_answer){ .to_head = streq(method, "HEAD") };
}

void http_answer_free(struct http_answer *answer) {
        str_free(&answer->lines.bytes);
}

static bool is_digit(char c) {
        return c >= '0' && c <= '9';
}

/* RFC 9112, 4: HTTP/1.x SP code SP reason. Servers leave out the last blank together with the reason. */
static enum refusal parse_status_line(struct http_answer *answer, const char *text, size_t n) {
        if (n < 12 || memcmp(text, "HTTP/1.", 7) != 0 || (text[7] != '0' && text[7] != '1') || text[8] != ' ' || !is_digit(text[9]) ||
                !is_digit(text[10]) || !is_digit(text[11]) || (n > 12 && text[12] != ' '))
                return REFUSAL_ORIGIN_HEAD;
        answer->http10 = text[7] == '0';
        answer->code = (uint16_t)((text[9] - '0') * 100 + (text[10] - '0') * 10 + (text[11] - '0'));
        answer->reason = n > 13 ? 13 : 0;
        answer->n_reason = n > 13 ? (uint16_t)(n - 13) : 0;
        if (answer->code == 101)
                return REFUSAL_ORIGIN_UPGRADE;
        return answer->code >= 100 && answer->code < 600 ? REFUSAL_NONE : REFUSAL_ORIGIN_HEAD;
}

typedef enum refusal answer_rule(struct http_answer *answer, struct http_field *field, const char *value, size_t n);

/* RFC 9112, 6.3 lets the same length stand there twice. It goes on once. */
static enum refusal content_length(struct http_answer *answer, struct http_field *field, const char *value, size_t n) {
        uint64_t length = 0;

        if (n == 0 || n > 19)
                return REFUSAL_ORIGIN_FRAMING;
        for (size_t i = 0; i < n; i++) {
                if (!is_digit(value[i]))
                        return REFUSAL_ORIGIN_FRAMING;
                length = length * 10 + (uint64_t)(value[i] - '0');
        }
        if (answer->has_length && answer->length != length)
                return REFUSAL_ORIGIN_FRAMING;
        field->dropped = answer->has_length;
        answer->has_length = true;
        answer->length = length;
        return REFUSAL_NONE;
}

static enum refusal transfer_encoding(struct http_answer *answer, struct http_field *field, const char *value, size_t n) {
        (void)field;
        if (answer->has_transfer_encoding || !http_equal(value, n, "chunked"))
                return REFUSAL_ORIGIN_FRAMING;
        answer->has_transfer_encoding = true;
        return REFUSAL_NONE;
}

static enum refusal one_hop(struct http_answer *answer, struct http_field *field, const char *value, size_t n) {
        (void)answer, (void)value, (void)n;
        field->dropped = true;
        return REFUSAL_NONE;
}

static const struct {
        const char *name;
        answer_rule *rule;
} known_fields[] = {
        { "connection", one_hop },
        { "content-length", content_length },
        { "keep-alive", one_hop },
        { "proxy-authenticate", one_hop },
        { "proxy-authorization", one_hop },
        { "proxy-connection", one_hop },
        { "te", one_hop },
        { "trailer", one_hop },
        { "transfer-encoding", transfer_encoding },
        { "upgrade", one_hop },
};

static enum refusal parse_field(struct http_answer *answer, const char *text, size_t n) {
        struct http_field *field = &answer->fields[answer->n_fields];
        const char *value;

        if (answer->n_fields == HTTP_FIELDS_MAX || http_field_split(&answer->lines, text, n, field))
                return REFUSAL_ORIGIN_HEAD;
        answer->n_fields++;
        value = answer->lines.bytes.text + field->value;
        for (size_t i = 0; i < ELEMENTSOF(known_fields); i++)
                if (http_equal(text, field->n_name, known_fields[i].name))
                        return known_fields[i].rule(answer, field, value, field->n_value);
        return REFUSAL_NONE;
}

/* RFC 9110, 8.6 and RFC 9112, 6.1: these say nothing of a length, and a client that believed one would take the next answer for a body. */
static bool says_no_length(const struct http_answer *answer) {
        return answer->code < 200 || answer->code == 204;
}

/* RFC 9112, 6.3. Both lengths in one head, and chunks from HTTP/1.0, are what an attack looks like (6.1). */
static enum refusal settle_framing(struct http_answer *answer) {
        if (answer->has_transfer_encoding && (answer->has_length || answer->http10))
                return REFUSAL_ORIGIN_FRAMING;
        if (answer->to_head || answer->code < 200 || answer->code == 204 || answer->code == 304)
                answer->framing = HTTP_BODY_NONE;
        else if (answer->has_transfer_encoding)
                answer->framing = HTTP_BODY_CHUNKED;
        else
                answer->framing = answer->has_length ? HTTP_BODY_LENGTH : HTTP_BODY_CLOSE;
        if (says_no_length(answer)) {
                answer->has_length = false;
                answer->length = 0;
        }
        http_drop_hops(&answer->lines, answer->fields, answer->n_fields);
        /* A Connection that named one of these would take the body's end away. */
        for (size_t i = 0; i < answer->n_fields; i++) {
                struct http_field *f = &answer->fields[i];
                const char *name = answer->lines.bytes.text + f->name;

                if (http_equal(name, f->n_name, "transfer-encoding"))
                        f->dropped = says_no_length(answer);
                if (http_equal(name, f->n_name, "content-length"))
                        f->dropped = true;
        }
        return REFUSAL_NONE;
}

static enum refusal add_byte(struct http_answer *answer, char c) {
        enum refusal refusal;
        const char *text;
        bool line;
        size_t n;

        /* A reason may be in another script, which a request line may not. */
        refusal = http_lines_add(&answer->lines, (unsigned char)c >= 0x80 && answer->lines.start == 0 ? '?' : c, &line);
        if (refusal)
                return REFUSAL_ORIGIN_HEAD;
        if (!line)
                return REFUSAL_NONE;
        text = http_lines_last(&answer->lines, &n);
        if (n == 0 && answer->lines.start > 0) {
                refusal = settle_framing(answer);
                answer->status = refusal ? answer->status : HTTP_DONE;
                return refusal;
        }
        refusal = answer->lines.start == 0 ? parse_status_line(answer, text, n) : parse_field(answer, text, n);
        http_lines_next(&answer->lines);
        return refusal;
}

enum http_status http_answer_feed(struct http_answer *answer, const char *data, size_t n, size_t *ret_used) {
        size_t used = 0;

        http_lines_expect(&answer->lines, n);
        while (used < n && answer->status == HTTP_MORE) {
                used += http_lines_add_text(&answer->lines, data + used, n - used);
                if (used == n)
                        break;
                answer->refusal = add_byte(answer, data[used++]);
                if (answer->refusal)
                        answer->status = HTTP_REFUSED;
        }
        *ret_used = used;
        return answer->status;
}

void http_answer_write(const struct http_answer *answer, struct str *out) {
        str_reserve(out, answer->lines.bytes.size + 64);
        str_puts(out, "HTTP/1.1 ");
        str_put_u64(out, answer->code); /* three digits (parse_status_line()) */
        str_putc(out, ' ');
        str_add(out, answer->lines.bytes.text + answer->reason, answer->n_reason);
        str_puts(out, "\r\n");
        http_write_fields(&answer->lines, answer->fields, answer->n_fields, out);
        if (answer->has_length)
                http_write_length(answer->length, out);
        str_puts(out, http_answer_is_interim(answer) ? "\r\n" : "Connection: close\r\n\r\n");
}
