#define _GNU_SOURCE
#include "broker/connection.h"

#include "base/time.h"
#include "broker/listener.h"
#include "broker/reply.h"
#include "broker/request.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* How a refusal reaches the client. */
enum manner {
        BY_RESET,
        BY_REPLY,  /* an HTTP answer */
        BY_ANSWER, /* likewise, unless the origin's has begun */
        BY_ALERT,  /* a TLS alert */
};

static const struct state_row {
        connection_step *run;
        enum manner manner;
        enum refusal late; /* what the deadline means */
        bool expects;      /* it begins with a question */
} states[] = {
        [CONNECTION_HEAD] = { head_run, BY_REPLY, REFUSAL_HEAD_TIME, .expects = true },
        [CONNECTION_DIALING] = { dialing_run, BY_REPLY, REFUSAL_WALL_TIME, .expects = true },
        [CONNECTION_HELLO] = { hello_run, BY_ALERT, REFUSAL_WALL_TIME, .expects = true },
        [CONNECTION_HELLO_ANSWER] = { hello_answer_run, BY_ALERT, REFUSAL_WALL_TIME, .expects = true },
        [CONNECTION_HELLO_AGAIN] = { hello_again_run, BY_ALERT, REFUSAL_WALL_TIME, .expects = true },
        [CONNECTION_TUNNEL] = { tunnel_run, BY_RESET, REFUSAL_WALL_TIME },
        [CONNECTION_EXCHANGE] = { exchange_run, BY_ANSWER, REFUSAL_WALL_TIME, .expects = true },
        [CONNECTION_REPLY] = { reply_run, BY_RESET, REFUSAL_WALL_TIME },
        [CONNECTION_LINGER] = { linger_run, BY_RESET, REFUSAL_NONE },
};

#define container_of(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))

static void run(struct connection *c) {
        enum step step = STEP_NEXT;

        while (step == STEP_NEXT) {
                if (c->client.urgent || c->origin.urgent)
                        step = connection_finish(c, REFUSAL_URGENT);
                else if (c->client.failed)
                        step = connection_finish(c, REFUSAL_CLIENT_RESET);
                else
                        step = states[c->state].run(c);
        }
        if (step == STEP_AGAIN)
                loop_later(&c->broker->loop, &c->task);
}

static void task_run(struct task *task) {
        struct connection *c = container_of(task, struct connection, task);

        if (c->state != CONNECTION_CLOSED)
                run(c);
}

/* The one place where a connection's memory is given back. */
static void end_run(struct task *task) {
        struct connection *c = container_of(task, struct connection, end);
        struct broker *broker = c->broker;

        side_close(&c->client, true);
        side_close(&c->origin, true);
        free(c);
        listeners_resume(broker);
}

static void client_ready(struct source *source, uint32_t events) {
        struct connection *c = container_of(source, struct connection, client.source);

        side_ready(&c->client, events);
        loop_later(&c->broker->loop, &c->task);
}

static void origin_ready(struct source *source, uint32_t events) {
        struct connection *c = container_of(source, struct connection, origin.source);

        side_ready(&c->origin, events);
        loop_later(&c->broker->loop, &c->task);
}

static void deadline_passed(struct deadline *deadline) {
        struct connection *c = container_of(deadline, struct connection, deadline);

        connection_refuse(c, states[c->state].late);
}

int connection_open(struct broker *broker, int fd) {
        struct connection *c = calloc(1, sizeof *c);

        if (c)
                c->client = (struct side){ .source.ready = client_ready, .fd = fd, .witness = -1 };
        if (!c || !(c->request = request_new()) || side_watch(&c->client, &broker->loop) < 0 || !broker_take_slot(broker, c, &c->tag)) {
                free(c ? c->request : NULL);
                free(c);
                close(fd);
                return -ENOMEM;
        }
        c->task.run = task_run;
        c->end.run = end_run;
        c->deadline.passed = deadline_passed;
        c->broker = broker;
        c->id = ++broker->n_accepted;
        c->accepted_us = time_monotonic_us();
        c->accepted_ns = time_realtime_ns();
        c->wall_us = c->accepted_us + broker->policy->wall_time_ms * 1000;
        c->origin = (struct side){ .source.ready = origin_ready, .fd = -1, .witness = -1 };
        c->up.limit = broker->policy->max_request_body_bytes;
        c->down.limit = broker->policy->max_response_bytes;
        loop_expect(&broker->loop);
        deadline_set(&broker->loop.deadlines, &c->deadline,
                c->wall_us - c->accepted_us > HEAD_TIME_US ? c->accepted_us + HEAD_TIME_US : c->wall_us);
        return 0;
}

enum step connection_enter(struct connection *c, enum connection_state state) {
        if (c->state == CONNECTION_HEAD)
                deadline_set(&c->broker->loop.deadlines, &c->deadline, c->wall_us);
        c->state = state;
        if (states[state].expects)
                loop_expect(&c->broker->loop);
        return STEP_NEXT;
}

void connection_ask(struct connection *c) {
        int r;

        if (c->state != CONNECTION_DIALING || c->asked)
                return;
        r = dialer_connect(
                &c->broker->dialer, c->tag, &c->authority, c->request->head.connect ? POLICY_HTTPS : POLICY_HTTP, c->wall_us * 1000);
        c->asked = r == 0;
        if (r == -EAGAIN)
                broker_wait_for_dialer(c->broker);
        if (r < 0 && r != -EAGAIN)
                connection_refuse(c, REFUSAL_DIALER_HELPER);
}

void connection_dialed(struct connection *c, struct dialer_answer *answer) {
        if (c->state != CONNECTION_DIALING) {
                dialer_drop(answer);
                return;
        }
        c->asked = false;
        c->has_address = answer->has_address;
        c->address = answer->address;
        memcpy(c->detail, answer->detail, sizeof c->detail);
        if (answer->refusal) {
                connection_refuse(c, answer->refusal);
                return;
        }
        c->origin.fd = answer->fd;
        c->origin.witness = answer->witness;
        c->origin.shared = true; /* the dialer closes its own by and by */
        c->origin.delays = true;
        if (side_watch(&c->origin, &c->broker->loop) < 0) {
                connection_refuse(c, REFUSAL_DIALER_BUSY);
                return;
        }
        request_connected(c);
        loop_later(&c->broker->loop, &c->task);
}

static enum manner manner_of(const struct connection *c, enum refusal refusal) {
        enum manner manner = states[c->state].manner;
        bool tls = str_after(refusal_row(refusal)->code, "tls.") || refusal == REFUSAL_ORIGIN_TLS;

        if (refusal == REFUSAL_REQUEST_BYTES || refusal == REFUSAL_RESPONSE_BYTES)
                return BY_RESET;
        /* Who does not speak TLS may speak HTTP, and reads an answer. */
        if (manner == BY_ALERT && c->state == CONNECTION_HELLO && refusal == REFUSAL_NOT_TLS)
                return BY_REPLY;
        if (manner == BY_ALERT && !tls)
                return BY_RESET;
        if (manner == BY_ANSWER)
                return c->request->answered ? BY_RESET : BY_REPLY;
        return manner;
}

enum step connection_refuse(struct connection *c, enum refusal refusal) {
        enum manner manner = manner_of(c, refusal);

        if (manner == BY_RESET)
                return connection_finish(c, refusal);
        connection_audit(c, refusal);
        side_close(&c->origin, true);
        flow_end(&c->up);
        flow_end(&c->down);
        if (manner == BY_REPLY)
                reply_refusal(c, refusal, &c->down.held);
        else
                reply_alert(refusal, &c->down.held);
        connection_enter(c, CONNECTION_REPLY);
        /* A deadline has passed, or an answer has come: nobody runs us otherwise. */
        run(c);
        return STEP_OVER;
}

void connection_audit(struct connection *c, enum refusal refusal) {
        struct time_text time;
        struct address_text address;
        const char *code = refusal_row(refusal)->code;
        struct sage_audit line = {
                .id = c->id,
                .method = c->method,
                .verdict = (enum sage_verdict)refusal_kind(refusal),
                .code = *code ? code : NULL,
                .member = refusal_member(refusal),
                .detail = c->detail[0] ? c->detail : NULL,
                .sent_bytes = c->up.seen,
                .received_bytes = c->down.seen,
                .milliseconds = (time_monotonic_us() - c->accepted_us) / 1000,
        };

        if (c->audited || c->broker->audit.fd < 0)
                return;
        c->audited = true;
        time = time_rfc3339(c->accepted_ns);
        line.time = time.text;
        if (c->has_authority) {
                line.host = c->authority.host;
                line.port = c->authority.port;
                line.has |= SAGE_AUDIT_HAS_PORT;
        }
        if (refusal == REFUSAL_BODY_LIMIT) {
                line.announced_bytes = c->request->head.content_length;
                line.has |= SAGE_AUDIT_HAS_ANNOUNCED_BYTES;
        }
        if (c->has_address) {
                address = address_print(&c->address);
                line.address = address.text;
        }
        broker_audit(c->broker, &line);
}

enum step connection_finish(struct connection *c, enum refusal refusal) {
        bool reset = refusal != REFUSAL_NONE;

        if (c->state == CONNECTION_CLOSED)
                return STEP_OVER;
        /* Who came and went without a byte asked for nothing. */
        if (reset || c->has_authority)
                connection_audit(c, refusal);
        if (c->state == CONNECTION_DIALING && c->asked)
                dialer_cancel(&c->broker->dialer, c->tag);
        deadline_clear(&c->broker->loop.deadlines, &c->deadline);
        /* A client that has gone hears nothing any more: those that are here come first. */
        if (refusal != REFUSAL_CLIENT_RESET) {
                side_close(&c->client, reset);
                if (reset)
                        side_close(&c->origin, true);
                else
                        side_leave(&c->origin);
        }
        flow_end(&c->up);
        flow_end(&c->down);
        request_free(c);
        c->state = CONNECTION_CLOSED;
        broker_give_slot(c->broker, c->tag);
        loop_put_off(&c->broker->loop, &c->end);
        return STEP_OVER;
}
