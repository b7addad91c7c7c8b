/* Descriptors that are closed together. Building a container opens some forty of them for one step each; neighbours cost one close_range(2)
 * in the end instead of a close(2) each. Only descriptors that were added are closed. */
#pragma once

#include <errno.h>
#include <stdint.h>
#include <unistd.h>

#include "base/fd.h"

#define FD_BATCH_RANGE 64 /* descriptors above are closed at once */
#define FD_BATCH_MAX 40   /* as many wait at most: far below any RLIMIT_NOFILE that a runtime can work with */

struct fd_batch {
        uint64_t set; /* bit N: descriptor N */
        unsigned n;
};

static inline void fd_batch_close(struct fd_batch *batch) {
        int saved = errno;

        while (batch->set) {
                unsigned first = (unsigned)__builtin_ctzll(batch->set), last = first;

                while (last < FD_BATCH_RANGE && batch->set & UINT64_C(1) << last)
                        batch->set &= ~(UINT64_C(1) << last++);
                close_range(first, last - 1, 0);
        }
        batch->n = 0;
        errno = saved;
}

/* Takes *FD, which is done with. */
static inline void fd_batch_add(struct fd_batch *batch, int *fd) {
        if (*fd < 0)
                return;
        if (*fd >= FD_BATCH_RANGE) {
                close_fd(fd);
                return;
        }
        batch->set |= UINT64_C(1) << take_fd(fd);
        if (++batch->n == FD_BATCH_MAX)
                fd_batch_close(batch);
}
