/* One client's connection, from accept to the end: a state machine that a deadline bounds from the first moment on.
 *
 *     HEAD ──► DIALING ──► HELLO ──► HELLO_ANSWER ──► TUNNEL          CONNECT
 *       │         │          │            └► HELLO_AGAIN ─┘           (the server wants another hello)
 *       │         └► EXCHANGE ┼────────────────────────────► LINGER   a plain request and its answer
 *       └─────────────┴───────┴► REPLY ────────────────────────┘      a refusal that the client can read
 *
 * Every state may also end in a reset: at a limit, for urgent data, when a side is gone. An end that is not an end never looks like one. */
#pragma once

#include "broker/broker.h"
#include "broker/relay.h"

#define HEAD_TIME_US 10000000u  /* for a request's head, where the whole connection has more */
#define LINGER_TIME_US 1000000u /* for a client to read our last words while it still sends */
#define LINGER_BYTES 65536u

enum connection_state {
        CONNECTION_HEAD,         /* the request's head comes in */
        CONNECTION_DIALING,      /* the dialer was asked for the destination */
        CONNECTION_HELLO,        /* the client's hello comes in, and nothing has gone out */
        CONNECTION_HELLO_ANSWER, /* the server's first words pass by; the client is not read */
        CONNECTION_HELLO_AGAIN,  /* the client's second hello comes in; what the server sends goes on */
        CONNECTION_TUNNEL,
        CONNECTION_EXCHANGE,
        CONNECTION_REPLY,
        CONNECTION_LINGER,
        CONNECTION_CLOSED,
};

enum step {
        STEP_WAIT,  /* for a socket, the dialer or the deadline */
        STEP_AGAIN, /* once others had their turn */
        STEP_NEXT,  /* the state has changed */
        STEP_OVER,
};

struct connection {
        struct task task, end; /* end: a turn after the last one */
        struct deadline deadline;
        struct broker *broker;
        enum connection_state state;
        uint32_t tag; /* in broker->slots, and for the dialer */
        uint64_t id;
        uint64_t accepted_us, wall_us; /* CLOCK_MONOTONIC */
        uint64_t accepted_ns;          /* CLOCK_REALTIME */
        struct side client, origin;
        struct flow up, down;    /* to the origin, from it */
        struct request *request; /* until plain relaying begins */

        /* For the audit. */
        bool audited, asked, has_authority, has_address;
        const char *method;
        struct authority authority;
        struct address address;
        char detail[80];
};

/* Takes the accepted socket FD. 0, or a negative errno when there is no memory: then FD is closed. */
int connection_open(struct broker *broker, int fd);

void connection_dialed(struct connection *c, struct dialer_answer *answer);

/* The dialer can be asked again. */
void connection_ask(struct connection *c);

/* For the states' own functions (request.c, tunnel.c, exchange.c, reply.c). */

enum step connection_enter(struct connection *c, enum connection_state state);

/* Tells the client as well as the state allows, and goes on from there. */
enum step connection_refuse(struct connection *c, enum refusal refusal);

/* Closes both sides; with REFUSAL_NONE that is a regular end. Adds the audit's line. */
enum step connection_finish(struct connection *c, enum refusal refusal);

/* Adds the audit's line, the only one there will be. */
void connection_audit(struct connection *c, enum refusal refusal);

typedef enum step connection_step(struct connection *c);
connection_step head_run, dialing_run, hello_run, hello_answer_run, hello_again_run, tunnel_run, exchange_run, reply_run, linger_run;

/* The dialer's socket is the origin. */
enum step request_connected(struct connection *c);

/* All has been said; now the client has a while to read it. */
enum step linger_begin(struct connection *c);
