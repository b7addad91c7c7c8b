/* A command's standard output and error where the runtime stands between them and our own, because they are counted: pipes that the command
 * writes to, whose content is passed on up to a limit and read and dropped behind it. */
#pragma once

#include <poll.h>

#include "apply/relay.h"
#include "base/error.h"

enum { OUTPUT_STREAMS = 2, OUTPUT_POLLFDS = 2 * OUTPUT_STREAMS };

struct output_stream {
        int source;   /* what the command wrote can be read here; -1 once nothing more comes */
        int given;    /* what becomes the command's; -1 when it has it */
        int standard; /* STDOUT_FILENO or STDERR_FILENO */
        int rest;     /* bytes that are still to come; -1: nobody knows */
        struct relay_end target;
        struct relay_buffer buffer;
};

struct output_relay {
        struct output_budget budget; /* of both together */
        bool merged;                 /* ours are one and the same, so the command's are, too: what it writes keeps its order */
        struct output_stream streams[OUTPUT_STREAMS];
};

/* limit: bytes. first_fd: no descriptor gets a lower number (those of --preserve-fds are the command's). */
int output_relay_open(struct output_relay *r, uint64_t limit, int first_fd, struct error *err);

/* In the child: the pipes become fds 1 and 2. R may be NULL. */
int output_relay_take_it(const struct output_relay *r, struct error *err);
static inline int output_relay_take(const struct output_relay *r, struct error *err) {
        return r ? output_relay_take_it(r, err) : 0;
}

/* In the parent, once there is a child that has them. */
void output_relay_given(struct output_relay *r);

/* As for a terminal (terminal.h): the caller polls, nothing here blocks. */
void output_relay_pollfds(const struct output_relay *r, struct pollfd fds[OUTPUT_POLLFDS]);
void output_relay_step(struct output_relay *r, const struct pollfd fds[OUTPUT_POLLFDS]);

/* Nobody writes any more: what the pipes still hold is all there will be, whoever has their other ends open. */
void output_relay_end(struct output_relay *r);
/* Has everything been passed on? */
bool output_relay_done(const struct output_relay *r);

/* May be called twice. */
void output_relay_close(struct output_relay *r);
