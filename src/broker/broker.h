/* The broker's front: what all its connections share. */
#pragma once

#include "broker/audit.h"
#include "broker/dialer.h"
#include "broker/loop.h"
#include "broker/policy.h"
#include "broker/relay.h"

struct connection;

/* A place for a connection. Its number and how often it was used before make the tag by which the dialer's answers find it, so that a late
 * answer finds nobody. */
struct slot {
        struct connection *connection;
        uint32_t next_free; /* of those that became free; n_slots: the last */
        uint16_t uses;
};

struct broker {
        const struct policy *policy;
        struct loop loop;
        struct dialer dialer;
        struct source dialer_source, signal_source;
        int signals; /* signalfd(2) */
        bool dialer_is_full;
        struct audit audit;
        struct task audit_task;
        unsigned audit_turns; /* that its lines have waited */
        struct listeners *listeners;
        struct slot *slots;
        uint32_t n_slots, n_used, first_free, n_open; /* n_used: that ever had one; the memory of the others was never touched */
        uint64_t n_accepted;
        char *buffer; /* RELAY_CHUNK bytes, for whoever has the turn */
        struct pipes pipes;
};

/* dialer: was started; audit, listeners: open; all of them live on. Watches them, and SIGTERM, SIGINT and SIGHUP, which it blocks. */
int broker_open(struct broker *broker, struct error *err);

/* Until a signal or the dialer's end says stop; then every connection is reset. */
int broker_run(struct broker *broker, struct error *err);

/* Adds LINE to the audit; it is written a turn of the loop later. */
void broker_audit(struct broker *broker, struct sage_audit *line);

/* The dialer takes no more questions for now; connection_ask() is called again when it does. */
void broker_wait_for_dialer(struct broker *broker);

/* How much to read at once: less where there are many connections, each of which may have to hold it for a peer that does not read. */
static inline size_t broker_chunk(const struct broker *broker) {
        size_t share = RELAY_HELD_MAX / (2 * ((size_t)broker->n_open + 1));

        return share > RELAY_CHUNK ? RELAY_CHUNK : share < RELAY_CHUNK_LEAST ? RELAY_CHUNK_LEAST : share;
}

/* A free place, or NULL: max_connections are open. */
struct slot *broker_take_slot(struct broker *broker, struct connection *connection, uint32_t *ret_tag);
void broker_give_slot(struct broker *broker, uint32_t tag);
