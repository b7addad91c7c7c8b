#define _GNU_SOURCE
#include "broker/upstream.h"

#include "broker/http_text.h"

void upstream_request(const struct address *address, uint16_t port, struct str *out) {
        struct address_text text = address_print(address);
        const char *open = address->v6 ? "[" : "", *close = address->v6 ? "]" : "";

        /* RFC 9110, 9.3.6 and 7.2: the authority as target, and as Host. */
        str_printf(
                out, "CONNECT %s%s%s:%u HTTP/1.1\r\nHost: %s%s%s:%u\r\n\r\n", open, text.text, close, port, open, text.text, close, port);
}

static enum upstream_status refuse(struct upstream_answer *answer, enum refusal refusal) {
        answer->refusal = refusal;
        return answer->status = UPSTREAM_REFUSED;
}

static bool is_digit(char c) {
        return c >= '0' && c <= '9';
}

/* RFC 9112, 4: HTTP/1.x SP three digits SP, then a reason that means nothing, or none. */
static enum upstream_status end_status_line(struct upstream_answer *answer) {
        const char *line = answer->line;

        if (answer->n_line < UPSTREAM_STATUS || memcmp(line, "HTTP/1.", 7) != 0 || (line[7] != '0' && line[7] != '1') || line[8] != ' ' ||
                line[12] != ' ' || !is_digit(line[9]) || !is_digit(line[10]) || !is_digit(line[11]))
                return refuse(answer, REFUSAL_PROXY_ANSWER);
        answer->code = (uint16_t)((line[9] - '0') * 100 + (line[10] - '0') * 10 + (line[11] - '0'));
        if (answer->code == 407)
                return refuse(answer, REFUSAL_PROXY_AUTHENTICATION);
        if (answer->code >= 300 && answer->code < 600)
                return refuse(answer, REFUSAL_PROXY_REFUSED);
        /* 101: we asked for no other protocol. */
        if (answer->code < 100 || answer->code >= 600 || answer->code == 101)
                return refuse(answer, REFUSAL_PROXY_ANSWER);
        return UPSTREAM_MORE;
}

/* The empty line. Whatever length or coding a 2xx answer claims, it has no body (RFC 9110, 9.3.6). */
static enum upstream_status end_head(struct upstream_answer *answer) {
        if (answer->code >= 200)
                return answer->status = UPSTREAM_DONE;
        if (++answer->interim > UPSTREAM_INTERIM_MAX)
                return refuse(answer, REFUSAL_PROXY_ANSWER);
        answer->in_fields = false;
        return UPSTREAM_MORE;
}

static enum upstream_status end_line(struct upstream_answer *answer) {
        enum upstream_status status = UPSTREAM_MORE;

        if (!answer->in_fields)
                status = end_status_line(answer);
        else if (answer->n_line == 0)
                return end_head(answer);
        else if (!answer->in_value)
                return refuse(answer, REFUSAL_PROXY_ANSWER);
        answer->in_fields = true;
        answer->in_value = false;
        answer->n_line = 0;
        return status;
}

/* A line may not begin with a blank (it would go on from the one before: obs-fold, RFC 9112, 5.2), and no blank stands before the colon. */
static bool fits_line(const struct upstream_answer *answer, char c) {
        if (answer->in_fields && !answer->in_value)
                return http_is_token(&c, 1) || (c == ':' && answer->n_line > 0);
        return c == '\t' || ((unsigned char)c >= ' ' && c != 0x7f);
}

static enum upstream_status feed_byte(struct upstream_answer *answer, char c) {
        if (++answer->n_head > UPSTREAM_HEAD_MAX)
                return refuse(answer, REFUSAL_PROXY_ANSWER);
        if (answer->cr || c == '\n') {
                if (!answer->cr || c != '\n')
                        return refuse(answer, REFUSAL_PROXY_ANSWER);
                answer->cr = false;
                return end_line(answer);
        }
        if (c == '\r') {
                answer->cr = true;
                return UPSTREAM_MORE;
        }
        if (!fits_line(answer, c) || answer->n_line == UPSTREAM_LINE_MAX)
                return refuse(answer, REFUSAL_PROXY_ANSWER);
        if (!answer->in_fields && answer->n_line < UPSTREAM_STATUS)
                answer->line[answer->n_line] = c;
        answer->in_value |= answer->in_fields && c == ':';
        answer->n_line++;
        return UPSTREAM_MORE;
}

enum upstream_status upstream_feed(struct upstream_answer *answer, const char *data, size_t n, size_t *ret_used) {
        size_t used = 0;

        while (used < n && answer->status == UPSTREAM_MORE)
                feed_byte(answer, data[used++]);
        *ret_used = used;
        return answer->status;
}
