#define _GNU_SOURCE
#include "broker/reply.h"

#include "base/time.h"
#include "broker/request.h"
#include "spec/refusal.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

static const struct {
        uint16_t status;
        const char *reason;
} reasons[] = {
        { 400, "Bad Request" },
        { 403, "Forbidden" },
        { 408, "Request Timeout" },
        { 411, "Length Required" },
        { 413, "Content Too Large" },
        { 414, "URI Too Long" },
        { 417, "Expectation Failed" },
        { 431, "Request Header Fields Too Large" },
        { 501, "Not Implemented" },
        { 502, "Bad Gateway" },
        { 503, "Service Unavailable" },
        { 504, "Gateway Timeout" },
        { 505, "HTTP Version Not Supported" },
};

static const char *reason_of(uint16_t status) {
        for (size_t i = 0; i < ELEMENTSOF(reasons); i++)
                if (reasons[i].status == status)
                        return reasons[i].reason;
        return "Refused";
}

static const char *message_of(enum refusal refusal) {
        switch (refusal_kind(refusal)) {
        case REFUSAL_KIND_REFUSED:
                return "refused by sandbox policy; retrying will not help";
        case REFUSAL_KIND_LIMITED:
                return "a limit of the sandbox was reached";
        default:
                return "the destination could not be reached";
        }
}

static void write_reply(const struct authority *authority, bool without_body, enum refusal refusal, struct str *out) {
        const struct refusal_row *row = refusal_row(refusal);
        _cleanup_str_ struct str body = { 0 };
        struct sage_refusal_body json = {
                .code = row->code,
                .message = message_of(refusal),
                .reason = row->text,
                .member = refusal_member(refusal),
        };
        struct error err;

        if (authority) {
                json.host = authority->host;
                json.port = authority->port;
                json.has |= SAGE_REFUSAL_BODY_HAS_PORT;
        }
        (void)spec_encode(&sage_refusal_body_type, &json, &body, 0, &err);
        str_putc(&body, '\n');
        str_printf(out,
                "HTTP/1.1 %u %s\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n"
                "Cache-Control: no-store\r\nConnection: close\r\n\r\n",
                row->status, reason_of(row->status), body.size);
        if (!without_body)
                str_add(out, body.text, body.size);
}

void reply_refusal(const struct connection *c, enum refusal refusal, struct str *out) {
        write_reply(c->has_authority ? &c->authority : NULL, c->method && streq(c->method, "HEAD"), refusal, out);
}

/* RFC 8446, 6: a record of type alert, level fatal. */
void reply_alert(enum refusal refusal, struct str *out) {
        enum { ACCESS_DENIED = 49, INTERNAL_ERROR = 80, UNRECOGNIZED_NAME = 112 };
        char alert[] = { 21, 3, 3, 0, 2, 2, ACCESS_DENIED };

        if (refusal == REFUSAL_TLS_NAME_DIFFERS || refusal == REFUSAL_TLS_NO_NAME || refusal == REFUSAL_TLS_NAME)
                alert[6] = UNRECOGNIZED_NAME;
        if (refusal == REFUSAL_ORIGIN_TLS)
                alert[6] = INTERNAL_ERROR;
        str_add(out, alert, sizeof alert);
}

enum step reply_options(struct connection *c) {
        static const char text[] = "HTTP/1.1 204 No Content\r\nAllow: DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT\r\n"
                                   "Connection: close\r\n\r\n";

        connection_audit(c, REFUSAL_NONE);
        str_puts(&c->down.held, text);
        return connection_enter(c, CONNECTION_REPLY);
}

enum step reply_run(struct connection *c) {
        int r = flow_flush(&c->down, &c->client);

        if (r == -EAGAIN && time_monotonic_us() < c->wall_us)
                return STEP_WAIT;
        if (r < 0)
                return connection_finish(c, REFUSAL_CLIENT_RESET);
        return linger_begin(c);
}

enum step linger_begin(struct connection *c) {
        uint64_t now = time_monotonic_us(), end = now + LINGER_TIME_US < c->wall_us ? now + LINGER_TIME_US : c->wall_us;

        if (c->up.seen < c->up.limit)
                side_close(&c->origin, true);
        else
                side_leave(&c->origin);
        flow_end(&c->down);
        flow_end(&c->up);
        request_free(c);
        c->up = (struct flow){ .limit = LINGER_BYTES };
        if (shutdown(c->client.fd, SHUT_WR) < 0 || now >= end)
                return connection_finish(c, REFUSAL_NONE);
        deadline_set(&c->broker->loop.deadlines, &c->deadline, end);
        return connection_enter(c, CONNECTION_LINGER);
}

/* Reads what the client still sends and throws it away: closed over unread bytes, a socket resets the connection, and the client would
 * lose what it was told last. */
enum step linger_run(struct connection *c) {
        ssize_t n = flow_read(&c->up, &c->client, c->broker->buffer, RELAY_CHUNK);

        if (n == -EAGAIN)
                return STEP_WAIT;
        if (n <= 0)
                return connection_finish(c, REFUSAL_NONE);
        return c->client.readable ? STEP_AGAIN : STEP_WAIT;
}

void reply_at_once(struct broker *broker, int fd, enum refusal refusal) {
        struct time_text time = time_rfc3339(time_realtime_ns());
        struct sage_audit line = {
                .time = time.text,
                .id = ++broker->n_accepted,
                .verdict = (enum sage_verdict)refusal_kind(refusal),
                .code = refusal_row(refusal)->code,
                .member = refusal_member(refusal),
        };
        _cleanup_str_ struct str out = { 0 };

        write_reply(NULL, false, refusal, &out);
        (void)!send(fd, out.text, out.size, MSG_NOSIGNAL | MSG_DONTWAIT);
        (void)shutdown(fd, SHUT_WR);
        (void)!recv(fd, broker->buffer, RELAY_CHUNK, MSG_DONTWAIT);
        close(fd);
        broker_audit(broker, &line);
}
