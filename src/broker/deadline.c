#define _GNU_SOURCE
#include "broker/deadline.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void put(struct deadlines *all, uint32_t at, struct deadline *deadline) {
        all->heap[at] = deadline;
        deadline->place = at + 1;
}

static void up(struct deadlines *all, uint32_t at) {
        struct deadline *moved = all->heap[at];

        for (uint32_t parent; at > 0 && all->heap[parent = (at - 1) / 2]->at_us > moved->at_us; at = parent)
                put(all, at, all->heap[parent]);
        put(all, at, moved);
}

static void down(struct deadlines *all, uint32_t at) {
        struct deadline *moved = all->heap[at];

        for (;;) {
                uint32_t child = 2 * at + 1;

                if (child + 1 < all->n && all->heap[child + 1]->at_us < all->heap[child]->at_us)
                        child++;
                if (child >= all->n || all->heap[child]->at_us >= moved->at_us)
                        break;
                put(all, at, all->heap[child]);
                at = child;
        }
        put(all, at, moved);
}

/* A deadline that is not kept would be a hole, so running out of memory ends the broker (arena.h). */
static void grow(struct deadlines *all) {
        uint32_t room = all->room ? 2 * all->room : 64;
        struct deadline **heap = reallocarray(all->heap, room, sizeof *heap);

        if (!heap) {
                fputs("sage-egress-broker: out of memory\n", stderr);
                _exit(1);
        }
        all->heap = heap;
        all->room = room;
}

void deadline_set(struct deadlines *all, struct deadline *deadline, uint64_t at_us) {
        uint64_t before = deadline->at_us;

        deadline->at_us = at_us;
        if (deadline->place == 0) {
                if (all->n == all->room)
                        grow(all);
                all->heap[all->n++] = deadline;
                up(all, all->n - 1);
        } else if (at_us < before) {
                up(all, deadline->place - 1);
        } else {
                down(all, deadline->place - 1);
        }
}

void deadline_clear(struct deadlines *all, struct deadline *deadline) {
        uint32_t at = deadline->place - 1;
        struct deadline *last;

        if (deadline->place == 0)
                return;
        deadline->place = 0;
        last = all->heap[--all->n];
        if (last == deadline)
                return;
        put(all, at, last);
        up(all, at);
        down(all, last->place - 1);
}

void deadlines_free(struct deadlines *all) {
        free(all->heap);
        *all = (struct deadlines){ 0 };
}
