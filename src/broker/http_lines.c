#define _GNU_SOURCE
#include "broker/http_lines.h"

#include "broker/http_text.h"

enum refusal http_lines_add(struct http_lines *lines, char c, bool *ret_line) {
        bool in_fields = lines->start > 0;
        bool after_cr = lines->bytes.size > lines->start && lines->bytes.text[lines->bytes.size - 1] == '\r';

        *ret_line = false;
        /* RFC 9112, 2.2 lets a recipient take a bare LF for a line's end; whoever stands behind us may not. */
        if (after_cr != (c == '\n'))
                return REFUSAL_LINE_END;
        if ((unsigned char)c < ' ' && c != '\r' && c != '\n' && !(c == '\t' && in_fields))
                return REFUSAL_CONTROL;
        if (c == 0x7f || ((unsigned char)c >= 0x80 && !in_fields))
                return REFUSAL_CONTROL;
        if (lines->bytes.size == HTTP_HEAD_MAX)
                return REFUSAL_HEAD_LIMIT;
        str_putc(&lines->bytes, c);
        *ret_line = c == '\n';
        if (c != '\n' && c != '\r' && lines->bytes.size - lines->start > HTTP_LINE_MAX)
                return in_fields ? REFUSAL_HEAD_LIMIT : REFUSAL_LINE_LIMIT;
        return REFUSAL_NONE;
}

size_t http_lines_add_text(struct http_lines *lines, const char *data, size_t n) {
        size_t line = lines->bytes.size - lines->start, used = 0;

        if (line > 0 && lines->bytes.text[lines->bytes.size - 1] == '\r')
                return 0;
        if (line >= HTTP_LINE_MAX || lines->bytes.size >= HTTP_HEAD_MAX)
                return 0;
        if (n > HTTP_LINE_MAX - line)
                n = HTTP_LINE_MAX - line;
        if (n > HTTP_HEAD_MAX - lines->bytes.size)
                n = HTTP_HEAD_MAX - lines->bytes.size;
        while (used < n && data[used] >= ' ' && data[used] < 0x7f)
                used++;
        str_add(&lines->bytes, data, used);
        return used;
}

enum refusal http_field_split(const struct http_lines *lines, const char *text, size_t n, struct http_field *ret) {
        const char *colon = memchr(text, ':', n), *value = colon ? colon + 1 : NULL;
        size_t n_name = colon ? (size_t)(colon - text) : 0, n_value = colon ? n - n_name - 1 : 0;

        /* A blank at the start would continue the line before (obs-fold, RFC 9112, 5.2), one before the colon is read in two ways (5.1);
         * neither is a token. */
        if (!http_is_token(text, n_name))
                return REFUSAL_FIELD;
        http_trim(&value, &n_value);
        *ret = (struct http_field){
                .name = (uint16_t)(text - lines->bytes.text),
                .n_name = (uint16_t)n_name,
                .value = (uint16_t)(value - lines->bytes.text),
                .n_value = (uint16_t)n_value,
        };
        return REFUSAL_NONE;
}

static void drop(const struct http_lines *lines, struct http_field *fields, size_t n, const char *token, size_t size) {
        for (size_t i = 0; i < n; i++)
                if (http_equal_texts(lines->bytes.text + fields[i].name, fields[i].n_name, token, size))
                        fields[i].dropped = true;
}

void http_drop_hops(const struct http_lines *lines, struct http_field *fields, size_t n) {
        for (size_t i = 0; i < n; i++) {
                const char *value = lines->bytes.text + fields[i].value, *end = value + fields[i].n_value;

                if (!http_equal(lines->bytes.text + fields[i].name, fields[i].n_name, "connection"))
                        continue;
                while (value <= end) {
                        const char *comma = memchr(value, ',', (size_t)(end - value)), *token = value;
                        size_t size = (size_t)((comma ? comma : end) - token);

                        http_trim(&token, &size);
                        drop(lines, fields, n, token, size);
                        value = comma ? comma + 1 : end + 1;
                }
        }
}

void http_write_length(uint64_t length, struct str *out) {
        str_puts(out, "Content-Length: ");
        str_put_u64(out, length);
        str_puts(out, "\r\n");
}

void http_write_fields(const struct http_lines *lines, const struct http_field *fields, size_t n, struct str *out) {
        for (size_t i = 0; i < n; i++) {
                if (fields[i].dropped)
                        continue;
                str_add(out, lines->bytes.text + fields[i].name, fields[i].n_name);
                str_puts(out, ": ");
                str_add(out, lines->bytes.text + fields[i].value, fields[i].n_value);
                str_puts(out, "\r\n");
        }
}
