#define _GNU_SOURCE
#include "broker/pipes.h"

#include <fcntl.h>
#include <unistd.h>

/* pipe(7): a user without privileges has 64 MiB of pipes; beyond that one has two slots only, and is not worth its calls. */
static bool make(struct pipes *pipes, struct pipe *ret) {
        int ends[2];

        if (pipes->refused || pipes->n == PIPES_MAX || pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
                return false;
        if (fcntl(ends[1], F_SETPIPE_SZ, PIPE_SIZE) < 0) {
                pipes->refused = true;
                close(ends[0]);
                close(ends[1]);
                return false;
        }
        pipes->n++;
        *ret = (struct pipe){ .out = ends[0], .in = ends[1] };
        return true;
}

bool pipes_take(struct pipes *pipes, struct pipe *ret) {
        if (pipes->n_spare == 0)
                return make(pipes, ret);
        *ret = pipes->spare[--pipes->n_spare];
        return true;
}

void pipes_give(struct pipes *pipes, const struct pipe *pipe, bool empty) {
        if (empty) {
                pipes->spare[pipes->n_spare++] = *pipe;
                return;
        }
        pipes->n--;
        close(pipe->out);
        close(pipe->in);
}

void pipes_close(struct pipes *pipes) {
        while (pipes->n_spare > 0) {
                const struct pipe *pipe = &pipes->spare[--pipes->n_spare];

                pipes_give(pipes, pipe, false);
        }
}
