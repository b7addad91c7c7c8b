#define _GNU_SOURCE
#include "broker/request.h"

#include <errno.h>

/* A plain request: its body goes up, exactly as long as it was said to be, and the answer comes down, up to its end. One of each. */

/* The origin may answer and close before it has read the body, so this alone is no reason to end. */
static void give_up_upload(struct connection *c) {
        c->request->upload_failed = true;
        flow_end(&c->up);
}

static bool has_sent_all(const struct connection *c) {
        return c->up.seen == c->up.limit;
}

/* What the client sends behind the body is not read. STEP_WAIT and STEP_AGAIN: the answer is next. */
static enum step upload(struct connection *c) {
        struct request *r = c->request;
        int sent = r->upload_failed ? 0 : flow_flush(&c->up, &c->origin);
        ssize_t n;

        if (sent < 0 && sent != -EAGAIN)
                give_up_upload(c);
        if (sent < 0 || r->upload_failed || has_sent_all(c))
                return STEP_WAIT;
        n = flow_read(&c->up, &c->client, c->broker->buffer, broker_chunk(c->broker));
        if (n == -EAGAIN)
                return STEP_WAIT;
        if (n < 0)
                return connection_finish(c, REFUSAL_CLIENT_RESET);
        if (n == 0)
                return connection_refuse(c, REFUSAL_BODY_INCOMPLETE);
        if (flow_send(&c->up, &c->origin, c->broker->buffer, (size_t)n) < 0)
                give_up_upload(c);
        return c->client.readable && !flow_is_held(&c->up) ? STEP_AGAIN : STEP_WAIT;
}

static enum refusal send_down(struct connection *c, const char *data, size_t n) {
        return flow_send(&c->down, &c->client, data, n) < 0 ? REFUSAL_CLIENT_RESET : REFUSAL_NONE;
}

/* RFC 9110, 15.2: interim answers go on, but for the 100 that we have sent ourselves, and to clients that can know them. */
static enum refusal head_is_complete(struct connection *c) {
        struct request *r = c->request;
        bool interim = http_answer_is_interim(&r->answer);

        if (interim && ++r->interim > HTTP_INTERIM_MAX)
                return REFUSAL_ORIGIN_HEAD;
        /* RFC 9112, 6.1: its server was told that. */
        if (!interim && r->head.http10 && r->answer.framing == HTTP_BODY_CHUNKED)
                return REFUSAL_ORIGIN_FRAMING;
        /* To go out together with what came behind it. */
        if (!interim || (r->answer.code != 100 && !r->head.http10))
                http_answer_write(&r->answer, &c->down.held);
        if (interim) {
                http_answer_free(&r->answer);
                http_answer_begin(&r->answer, r->head.method);
                return REFUSAL_NONE;
        }
        r->answered = true;
        http_body_begin(&r->body, r->answer.framing, r->answer.length);
        r->whole = c->client.ends = r->body.status == HTTP_DONE;
        return REFUSAL_NONE;
}

static enum refusal take_head(struct connection *c, const char *data, size_t n, size_t *ret_used) {
        struct request *r = c->request;

        switch (http_answer_feed(&r->answer, data, n, ret_used)) {
        case HTTP_REFUSED:
                return r->answer.refusal;
        case HTTP_DONE:
                return head_is_complete(c);
        default:
                return REFUSAL_NONE;
        }
}

static enum refusal take_body(struct connection *c, const char *data, size_t n, size_t *ret_used) {
        struct request *r = c->request;
        enum http_status status = http_body_feed(&r->body, data, n, ret_used);
        enum refusal refusal;

        r->whole = c->client.ends = status == HTTP_DONE;
        refusal = *ret_used ? send_down(c, data, *ret_used) : REFUSAL_NONE;
        return status == HTTP_REFUSED ? r->body.refusal : refusal;
}

static enum refusal take(struct connection *c, const char *data, size_t n) {
        struct request *r = c->request;
        enum refusal refusal = REFUSAL_NONE;
        int sent;

        for (size_t at = 0, used; at < n && !refusal && !r->whole; at += used)
                refusal = r->answered ? take_body(c, data + at, n - at, &used) : take_head(c, data + at, n - at, &used);
        sent = flow_flush(&c->down, &c->client);
        return !refusal && sent < 0 && sent != -EAGAIN ? REFUSAL_CLIENT_RESET : refusal;
}

/* The origin's side is at its end. */
static enum refusal end_of_answer(struct connection *c) {
        struct request *r = c->request;

        if (!side_ended_in_order(&c->origin))
                return REFUSAL_ORIGIN_RESET;
        if (!r->answered || !http_body_ends(&r->body))
                return REFUSAL_ORIGIN_TRUNCATED;
        r->whole = true;
        return REFUSAL_NONE;
}

static enum step download(struct connection *c) {
        ssize_t n = flow_read(&c->down, &c->origin, c->broker->buffer, broker_chunk(c->broker));
        enum refusal refusal;

        if (n == -EAGAIN)
                return STEP_WAIT;
        if (n == -EFBIG)
                return connection_refuse(c, REFUSAL_RESPONSE_BYTES);
        refusal = n < 0 ? REFUSAL_ORIGIN_RESET : n == 0 ? end_of_answer(c) : take(c, c->broker->buffer, (size_t)n);
        if (refusal == REFUSAL_CLIENT_RESET)
                return connection_finish(c, refusal);
        if (refusal)
                return connection_refuse(c, refusal);
        return c->request->whole ? STEP_NEXT : c->origin.readable && !flow_is_held(&c->down) ? STEP_AGAIN : STEP_WAIT;
}

/* A client that is still sending would lose the answer, were its socket closed over what it sent. */
static enum step end(struct connection *c) {
        if (has_sent_all(c) && !c->client.readable)
                return connection_finish(c, REFUSAL_NONE);
        connection_audit(c, REFUSAL_NONE);
        return linger_begin(c);
}

enum step exchange_run(struct connection *c) {
        enum step up = c->request->whole ? STEP_WAIT : upload(c), down;
        int sent;

        if (up == STEP_OVER)
                return up;
        sent = flow_flush(&c->down, &c->client);
        if (sent < 0)
                return sent == -EAGAIN ? up : connection_finish(c, REFUSAL_CLIENT_RESET);
        if (!c->request->whole) {
                down = download(c);
                if (down != STEP_NEXT)
                        return down == STEP_WAIT ? up : down;
        }
        return flow_is_held(&c->down) ? STEP_WAIT : end(c);
}
