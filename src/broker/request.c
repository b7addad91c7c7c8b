#define _GNU_SOURCE
#include "broker/request.h"

#include "broker/reply.h"

#include <errno.h>
#include <stdlib.h>

/* A head is seldom longer; what comes behind it is kept until it has been decided about. */
#define HEAD_CHUNK 16384u

struct request *request_new(void) {
        return calloc(1, sizeof(struct request));
}

void request_free(struct connection *c) {
        struct request *r = take_ptr(c->request);

        if (!r)
                return;
        http_head_free(&r->head);
        str_free(&r->rest);
        tls_hello_free(&r->hello);
        tls_answer_free(&r->server);
        str_free(&r->raw);
        http_answer_free(&r->answer);
        free(r);
}

/* All that can be decided before the destination is looked for. */
static enum step decide(struct connection *c) {
        const struct http_head *head = &c->request->head;
        enum refusal refusal = policy_decide(c->broker->policy, &head->authority, head->connect ? POLICY_HTTPS : POLICY_HTTP);

        c->has_authority = true;
        c->authority = head->authority;
        c->method = head->method;
        if (!refusal)
                refusal = policy_decide_body(c->broker->policy, head->content_length);
        if (refusal)
                return connection_refuse(c, refusal);
        if (head->answer_self)
                return reply_options(c);
        connection_enter(c, CONNECTION_DIALING);
        connection_ask(c);
        return STEP_WAIT;
}

enum step head_run(struct connection *c) {
        struct request *r = c->request;
        struct flow unlimited = { .limit = UINT64_MAX }; /* a head has limits of its own, and counts nowhere */
        ssize_t n = flow_read(&unlimited, &c->client, c->broker->buffer, HEAD_CHUNK);
        size_t used;

        if (n < 0)
                return n == -EAGAIN ? STEP_WAIT : connection_finish(c, REFUSAL_CLIENT_RESET);
        if (n == 0)
                return r->head.lines.bytes.size == 0 ? connection_finish(c, REFUSAL_NONE) : connection_refuse(c, REFUSAL_HEAD_INCOMPLETE);
        switch (http_head_feed(&r->head, c->broker->buffer, (size_t)n, &used)) {
        case HTTP_MORE:
                return c->client.readable ? STEP_AGAIN : STEP_WAIT;
        case HTTP_REFUSED:
                return connection_refuse(c, r->head.refusal);
        case HTTP_DONE:
                break;
        }
        if (used < (size_t)n)
                str_add(&r->rest, c->broker->buffer + used, (size_t)n - used);
        return decide(c);
}

enum step dialing_run(struct connection *c) {
        (void)c;
        return STEP_WAIT;
}

/* Our own words to either side count as nobody's. */
enum step request_connected(struct connection *c) {
        static const char established[] = "HTTP/1.1 200 Connection Established\r\n\r\n", go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
        struct request *r = c->request;

        if (r->head.connect) {
                c->up.seen = r->rest.size;
                if (c->up.seen > c->up.limit)
                        return connection_refuse(c, REFUSAL_REQUEST_BYTES);
                tls_hello_begin(&r->hello, &c->authority, c->broker->policy->allow_ech);
                (void)flow_send(&c->down, &c->client, established, strlen(established));
                return connection_enter(c, CONNECTION_HELLO);
        }
        c->up.limit = r->head.content_length;
        http_answer_begin(&r->answer, r->head.method);
        if (r->head.expect_continue && r->head.content_length)
                (void)flow_send(&c->down, &c->client, go_on, strlen(go_on));
        http_head_write(&r->head, &c->up.held);
        c->up.seen = r->rest.size < c->up.limit ? r->rest.size : c->up.limit; /* what is more is nothing that was asked for */
        if (c->up.seen)
                str_add(&c->up.held, r->rest.text, c->up.seen);
        str_free(&r->rest);
        return connection_enter(c, CONNECTION_EXCHANGE);
}
