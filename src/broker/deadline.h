/* What has to happen at a time: a heap of points in time, each part of what it belongs to. */
#pragma once

#include <stdint.h>

struct deadline {
        uint64_t at_us;                            /* CLOCK_MONOTONIC */
        uint32_t place;                            /* in the heap, from 1; 0: not set */
        void (*passed)(struct deadline *deadline); /* it is not set any more then */
};

struct deadlines {
        struct deadline **heap;
        uint32_t n, room;
};

void deadline_set(struct deadlines *all, struct deadline *deadline, uint64_t at_us);
/* No harm where it is not set. */
void deadline_clear(struct deadlines *all, struct deadline *deadline);

/* The next one, or NULL. */
static inline struct deadline *deadline_first(const struct deadlines *all) {
        return all->n ? all->heap[0] : 0;
}

void deadlines_free(struct deadlines *all);
