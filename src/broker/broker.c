#define _GNU_SOURCE
#include "broker/broker.h"

#include "broker/connection.h"
#include "broker/listener.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>

#define SLOT_BITS 16 /* max_connections is 65536 at most (schemas/sage-network.json) */

#define AUDIT_TURNS 8 /* a turn of many full tunnels takes milliseconds */

#define container_of(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))

struct slot *broker_take_slot(struct broker *broker, struct connection *connection, uint32_t *ret_tag) {
        uint32_t number = broker->first_free;
        struct slot *slot;

        if (number < broker->n_slots)
                broker->first_free = broker->slots[number].next_free;
        else if (broker->n_used < broker->n_slots)
                broker->slots[number = broker->n_used++] = (struct slot){ 0 };
        else
                return NULL;
        slot = &broker->slots[number];
        *ret_tag = (uint32_t)slot->uses << SLOT_BITS | number;
        broker->n_open++;
        slot->connection = connection;
        return slot;
}

static struct slot *find_slot(struct broker *broker, uint32_t tag) {
        uint32_t number = tag & ((1u << SLOT_BITS) - 1);
        struct slot *slot = number < broker->n_used ? &broker->slots[number] : NULL;

        return slot && slot->connection && slot->uses == tag >> SLOT_BITS ? slot : NULL;
}

void broker_give_slot(struct broker *broker, uint32_t tag) {
        struct slot *slot = find_slot(broker, tag);

        slot->connection = NULL;
        slot->uses++;
        slot->next_free = broker->first_free;
        broker->first_free = (uint32_t)(slot - broker->slots);
        broker->n_open--;
}

/* Lines are gathered while there is other work, but not for long. */
static void write_audit(struct task *task) {
        struct broker *broker = container_of(task, struct broker, audit_task);

        if (!broker->loop.idle && ++broker->audit_turns < AUDIT_TURNS) {
                loop_put_off(&broker->loop, task);
                return;
        }
        broker->audit_turns = 0;
        audit_flush(&broker->audit);
}

void broker_audit(struct broker *broker, struct sage_audit *line) {
        if (broker->audit.fd < 0)
                return;
        audit_add(&broker->audit, line);
        loop_put_off(&broker->loop, &broker->audit_task);
}

static void answer_arrived(struct broker *broker, struct dialer_answer *answer) {
        struct slot *slot = find_slot(broker, answer->tag);

        if (slot)
                connection_dialed(slot->connection, answer);
        else
                dialer_drop(answer);
}

void broker_wait_for_dialer(struct broker *broker) {
        broker->dialer_is_full = true;
        (void)loop_change(&broker->loop, broker->dialer.socket, EPOLLIN | EPOLLOUT, &broker->dialer_source);
}

static void ask_again(struct broker *broker) {
        broker->dialer_is_full = false;
        (void)loop_change(&broker->loop, broker->dialer.socket, EPOLLIN, &broker->dialer_source);
        for (uint32_t i = 0; i < broker->n_used && !broker->dialer_is_full; i++)
                if (broker->slots[i].connection)
                        connection_ask(broker->slots[i].connection);
}

static void dialer_ready(struct source *source, uint32_t events) {
        struct broker *broker = container_of(source, struct broker, dialer_source);
        struct dialer_answer answer;
        int r;

        /* One at a time: the loop comes back for the next, and looks after others in between. */
        r = dialer_receive(&broker->dialer, &answer);
        if (r == 0)
                answer_arrived(broker, &answer);
        else if (r != -EAGAIN || events & (EPOLLHUP | EPOLLERR))
                broker->loop.stopped = true; /* nobody could be connected any more: closed is the safe state */
        if (broker->dialer_is_full && events & EPOLLOUT)
                ask_again(broker);
}

static void signal_arrived(struct source *source, uint32_t events) {
        struct broker *broker = container_of(source, struct broker, signal_source);

        (void)events;
        broker->loop.stopped = true;
}

static int watch_signals(struct broker *broker) {
        sigset_t signals;

        sigemptyset(&signals);
        sigaddset(&signals, SIGTERM);
        sigaddset(&signals, SIGINT);
        sigaddset(&signals, SIGHUP);
        if (sigprocmask(SIG_BLOCK, &signals, NULL) < 0 || (broker->signals = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK)) < 0)
                return -errno;
        (void)signal(SIGPIPE, SIG_IGN); /* splice(2) has no MSG_NOSIGNAL */
        broker->signal_source.ready = signal_arrived;
        return loop_add(&broker->loop, broker->signals, EPOLLIN, &broker->signal_source);
}

int broker_open(struct broker *broker, struct error *err) {
        int r = loop_open(&broker->loop, err);

        if (r < 0)
                return r;
        broker->n_slots = broker->first_free = broker->policy->max_connections;
        broker->slots = reallocarray(NULL, broker->n_slots, sizeof *broker->slots);
        broker->buffer = malloc(RELAY_CHUNK);
        if (!broker->slots || !broker->buffer)
                return fail_errno(err, CODE_RESOURCE_EXHAUSTED, ENOMEM, "", "no memory for %u connections", broker->n_slots);
        broker->dialer_source.ready = dialer_ready;
        broker->audit_task.run = write_audit;
        if ((r = loop_add(&broker->loop, broker->dialer.socket, EPOLLIN, &broker->dialer_source)) < 0 || (r = watch_signals(broker)) < 0 ||
                (r = listeners_watch(broker)) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, -r, "", "cannot watch descriptors");
        return 0;
}

/* At exit(2) the kernel would end what is cut off here as if it were whole. */
static void reset_all(struct broker *broker) {
        for (uint32_t i = 0; i < broker->n_used; i++)
                if (broker->slots[i].connection)
                        connection_finish(broker->slots[i].connection, REFUSAL_STOPPED);
        loop_catch_up(&broker->loop);
}

int broker_run(struct broker *broker, struct error *err) {
        int r = loop_run(&broker->loop, err);

        listeners_close(broker);
        reset_all(broker);
        return r;
}
