/* One connection in the making, inside the dialer. */
#pragma once

#include "broker/connector.h"
#include "broker/dialer.h"
#include "broker/helper_process.h"
#include "broker/upstream.h"

/* What the front asks, one message each. */
enum dialer_verb { DIALER_CONNECT = 1, DIALER_CANCEL };

struct dialer_request {
        uint32_t verb, tag;
        uint64_t deadline_ns;
        uint32_t scheme;                 /* enum policy_scheme */
        int32_t processor;               /* where the front runs (dialer_loop.c), -1: nobody knows */
        struct authority_text authority; /* canonical, with its port */
};

/* What all of them share. */
struct dialing {
        const struct policy *policy;
        int epoll, route;
        struct helpers helpers;
        struct addresses upstream; /* mode proxy: where it is; empty until it was looked up, and again when none of them answers */
};

enum dial_state {
        DIAL_NONE,
        DIAL_LOOKUP_UPSTREAM,
        DIAL_LOOKUP,
        DIAL_CONNECT,
        DIAL_TLS,  /* the TLS program shakes hands with the upstream */
        DIAL_ASK,  /* CONNECT was sent to the upstream */
        DIAL_DONE, /* ANSWER is what the front shall get */
};

struct dial {
        enum dial_state state;
        uint64_t id;     /* of epoll events */
        uint32_t number; /* owner of its helper */
        uint64_t deadline_ns;
        struct authority authority;
        struct addresses addresses; /* of the destination */
        struct addresses targets;   /* what is connected to: the same, or the upstream's */
        uint16_t next;              /* through an upstream: which of them was asked for */
        int helper;                 /* its number, -1: none (in the look-ups and in TLS: waiting for one) */
        int tunnel;                 /* the connected socket, or the plain side of the TLS program */
        int witness;                /* of the latter (helper.h), else -1 */
        struct connector connector;
        struct upstream_answer upstream;
        struct dialer_answer answer;
};

/* D began zeroed but for id and number. Decides about the destination once more, whoever asked. */
void dial_begin(struct dialing *dialing, struct dial *d, const struct dialer_request *request, uint64_t now_ns);

/* Something happened to one of D's descriptors, or its deadline or dial_wake() has come: goes on as far as it can without waiting. */
void dial_step(struct dialing *dialing, struct dial *d, uint64_t now_ns);

/* Its helper has answered, or ended (answer NULL). */
void dial_hear(struct dialing *dialing, struct dial *d, const void *answer, size_t size, uint64_t now_ns);

/* Lets go of all that it holds but an answer's descriptor. */
void dial_end(struct dialing *dialing, struct dial *d);

/* When dial_step() is to be called without an event. */
uint64_t dial_wake(const struct dial *d);
