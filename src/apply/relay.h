/* What goes through the runtime on its way between a command and our own standard streams: ends that never block, a buffer, and the count of
 * what may still be passed on. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct relay_end {
        int fd;          /* -1 once it has ended */
        bool opened;     /* fd is a description of our own, to be closed */
        int saved_flags; /* of a description that others share, to be put back; -1: unchanged */
};
#define RELAY_END_NONE \
        { .fd = -1, .saved_flags = -1 }

/* Makes an end of our standard stream FD that does not block. access: O_RDONLY or O_WRONLY. */
void relay_end_open(struct relay_end *end, int fd, int access);
/* standard: the FD that it was opened for, whose flags are put back. */
void relay_end_close(struct relay_end *end, int standard);
/* No more of it: whoever is at its other side is told, where we have a description of our own. */
void relay_end_stop(struct relay_end *end);

struct relay_buffer {
        size_t start, end;
        char data[16384];
};

static inline bool relay_has_room(const struct relay_buffer *b) {
        return b->end < sizeof b->data;
}
static inline bool relay_is_empty(const struct relay_buffer *b) {
        return b->start == b->end;
}
/* 1: something or nothing was moved, 0: the end of the input, negative errno: an error. */
int relay_fill(struct relay_buffer *b, int fd);
/* The same for the other side. */
int relay_drain(struct relay_buffer *b, int fd);

/* How much of a command's output is kept: up to a limit, and the rest is read all the same, so that the command does not hang. */
struct output_budget {
        uint64_t left;  /* bytes that may still be passed on */
        uint64_t total; /* bytes that came */
        bool over;      /* some were dropped */
};
/* Of the bytes that came into B since its end was at FROM, drops those that are too many. */
void output_budget_charge(struct output_budget *budget, struct relay_buffer *b, size_t from);
