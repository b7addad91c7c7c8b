/* Pipes: by splice(2) bytes go from socket to pipe to socket without being copied. A flow has one only while it holds bytes, so a few are
 * enough for all connections; who finds none copies. */
#pragma once

#include <stdbool.h>

#define PIPES_MAX 16u
/* 64 slots (fcntl(2), F_SETPIPE_SZ). What comes over loopback lies in parts of 32 KiB, a slot each; what comes from a network card, in pages. */
#define PIPE_SIZE (256 << 10)

struct pipe {
        int out, in; /* as pipe(2) has them: read from OUT what went into IN */
};

struct pipes {
        struct pipe spare[PIPES_MAX];
        unsigned n_spare, n; /* n: all there are, spare and in use */
        bool refused;        /* this host gives us no more, or none of that size */
};

/* An empty, non-blocking pipe; false when there is none to be had. */
bool pipes_take(struct pipes *pipes, struct pipe *ret);

/* empty: it may go to somebody else. What is in it otherwise is lost with it. */
void pipes_give(struct pipes *pipes, const struct pipe *pipe, bool empty);

void pipes_close(struct pipes *pipes);
