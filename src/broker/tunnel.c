#define _GNU_SOURCE
#include "broker/request.h"

#include <errno.h>

/* CONNECT: the client's hello is held back until it names the destination and nothing else. The server's first words tell whether another
 * hello follows, which an OpenSSL server would act on instead, so the client is not read before them: what it sent behind its hello stays
 * here. Then bytes go both ways, and only their number matters. */

/* What to read on with: what came early, else what the client has. As flow_read(). */
static ssize_t next_bytes(struct connection *c, struct str *early, const char **ret_data) {
        *early = c->request->rest;
        c->request->rest = (struct str){ 0 };
        *ret_data = early->size ? early->text : c->broker->buffer;
        return early->size ? (ssize_t)early->size : flow_read(&c->up, &c->client, c->broker->buffer, broker_chunk(c->broker));
}

/* Reads the hello on. It is kept as it came, to go out so. STEP_NEXT: it is complete, and right. */
static enum step read_hello(struct connection *c) {
        struct request *r = c->request;
        _cleanup_str_ struct str early = { 0 };
        const char *data;
        ssize_t n = next_bytes(c, &early, &data);
        size_t used;

        if (n == -EAGAIN)
                return STEP_WAIT;
        if (n == -EFBIG)
                return connection_refuse(c, REFUSAL_REQUEST_BYTES);
        if (n < 0)
                return connection_finish(c, REFUSAL_CLIENT_RESET);
        if (n == 0)
                return r->raw.size ? connection_refuse(c, REFUSAL_TLS_HELLO) : connection_finish(c, REFUSAL_NONE);
        if (tls_hello_feed(&r->hello, (const uint8_t *)data, (size_t)n, &used) == TLS_REFUSED)
                return connection_refuse(c, r->hello.refusal);
        str_add(&r->raw, data, used);
        if (used < (size_t)n)
                str_add(&r->rest, data + used, (size_t)n - used);
        if (r->hello.status == TLS_DONE)
                return STEP_NEXT;
        return c->client.readable ? STEP_AGAIN : STEP_WAIT;
}

static enum step send_hello(struct connection *c, enum connection_state state) {
        struct str *raw = &c->request->raw;

        if (flow_send(&c->up, &c->origin, raw->text, raw->size) < 0)
                return connection_finish(c, REFUSAL_ORIGIN_RESET);
        str_free(raw);
        return connection_enter(c, state);
}

enum step hello_run(struct connection *c) {
        enum step step;
        int r = flow_flush(&c->down, &c->client);

        if (r < 0 && r != -EAGAIN)
                return connection_finish(c, REFUSAL_CLIENT_RESET);
        step = read_hello(c);
        return step == STEP_NEXT ? send_hello(c, CONNECTION_HELLO_ANSWER) : step;
}

/* Nothing more is looked at. Not STEP_NEXT: both sides may have been read in this turn (relay.h). */
static enum step begin_tunnel(struct connection *c) {
        struct str rest = c->request->rest;
        int r = rest.size ? flow_send(&c->up, &c->origin, rest.text, rest.size) : 0;

        if (r < 0)
                return connection_finish(c, REFUSAL_ORIGIN_RESET);
        request_free(c);
        if (c->origin.witness < 0) /* a Unix socket's bytes are copied */
                c->up.pipes = c->down.pipes = &c->broker->pipes;
        connection_enter(c, CONNECTION_TUNNEL);
        return c->client.readable || c->origin.readable ? STEP_AGAIN : STEP_WAIT;
}

static enum step begin_again(struct connection *c) {
        struct request *r = c->request;
        _cleanup_tls_hello_ struct tls_hello first = r->hello;

        tls_hello_begin_second(&r->hello, &first);
        connection_enter(c, CONNECTION_HELLO_AGAIN);
        return STEP_AGAIN;
}

enum step hello_answer_run(struct connection *c) {
        struct request *r = c->request;
        int up = flow_flush(&c->up, &c->origin), down = flow_flush(&c->down, &c->client);
        size_t used;
        ssize_t n;

        if (down < 0 && down != -EAGAIN)
                return connection_finish(c, REFUSAL_CLIENT_RESET);
        if (up < 0 && up != -EAGAIN)
                return connection_finish(c, REFUSAL_ORIGIN_RESET);
        if (down == -EAGAIN)
                return STEP_WAIT;
        n = flow_read(&c->down, &c->origin, c->broker->buffer, broker_chunk(c->broker));
        if (n == -EAGAIN)
                return STEP_WAIT;
        if (n == -EFBIG)
                return connection_finish(c, REFUSAL_RESPONSE_BYTES);
        if (n <= 0)
                return connection_finish(c, n < 0 ? REFUSAL_ORIGIN_RESET : REFUSAL_ORIGIN_TRUNCATED);
        tls_answer_feed(&r->server, (const uint8_t *)c->broker->buffer, (size_t)n, &used);
        if (r->server.answer == TLS_ANSWER_REFUSED)
                return connection_refuse(c, REFUSAL_ORIGIN_TLS);
        if (flow_send(&c->down, &c->client, c->broker->buffer, (size_t)n) < 0)
                return connection_finish(c, REFUSAL_CLIENT_RESET);
        if (r->server.answer == TLS_ANSWER_MORE)
                return c->origin.readable ? STEP_AGAIN : STEP_WAIT;
        return r->server.answer == TLS_ANSWER_RETRY ? begin_again(c) : begin_tunnel(c);
}

/* An origin that reads no more may have sent its last, which is still to be read. */
static enum relay pump_up(struct connection *c) {
        enum relay up = c->up.shut ? RELAY_OVER : flow_pump(&c->up, &c->client, &c->origin, c->broker->buffer, broker_chunk(c->broker));

        if (up != RELAY_TO_FAILED)
                return up;
        flow_end(&c->up);
        return RELAY_OVER;
}

static enum relay pump_down(struct connection *c) {
        return flow_pump(&c->down, &c->origin, &c->client, c->broker->buffer, broker_chunk(c->broker));
}

static enum step settle(struct connection *c, enum relay up, enum relay down) {
        if (up == RELAY_FROM_FAILED || down == RELAY_TO_FAILED)
                return connection_finish(c, REFUSAL_CLIENT_RESET);
        if (up == RELAY_LIMIT)
                return connection_finish(c, REFUSAL_REQUEST_BYTES);
        if (down == RELAY_LIMIT)
                return connection_finish(c, REFUSAL_RESPONSE_BYTES);
        if (down == RELAY_FROM_FAILED)
                return connection_finish(c, REFUSAL_ORIGIN_RESET);
        if (up == RELAY_OVER && down == RELAY_OVER)
                return connection_finish(c, REFUSAL_NONE);
        return up == RELAY_AGAIN || down == RELAY_AGAIN ? STEP_AGAIN : STEP_WAIT;
}

enum step hello_again_run(struct connection *c) {
        enum step step, relayed = settle(c, RELAY_WAIT, pump_down(c));

        if (relayed == STEP_OVER)
                return relayed;
        step = read_hello(c);
        if (step == STEP_NEXT) {
                step = send_hello(c, CONNECTION_TUNNEL);
                return step == STEP_NEXT ? begin_tunnel(c) : step;
        }
        return step == STEP_WAIT ? relayed : step;
}

enum step tunnel_run(struct connection *c) {
        enum relay up = pump_up(c);

        return settle(c, up, pump_down(c));
}
