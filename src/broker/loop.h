/* The one loop: descriptors that became ready, deadlines that passed, and work that gave way to others. */
#pragma once

#include "base/error.h"
#include "broker/deadline.h"

#include <stdbool.h>
#include <stdint.h>

#define LOOP_EXPECT_US 100u

/* Part of what has the descriptor. events: EPOLLIN and so on (epoll_ctl(2)). */
struct source {
        void (*ready)(struct source *source, uint32_t events);
};

/* Runs once, after all that was ready had its turn. */
struct task {
        struct task *next;
        bool queued;
        void (*run)(struct task *task);
};

struct loop {
        int epoll;
        uint64_t now_us;           /* CLOCK_MONOTONIC, as of the last thing that happened */
        uint64_t expects_until_us; /* loop_expect() */
        struct deadlines deadlines;
        struct task_queue {
                struct task *first, **last; /* last: where the next one goes, if there is a first */
        } later, put_off;
        bool idle; /* the last wait brought nothing */
        bool stopped;
};

int loop_open(struct loop *loop, struct error *err);
void loop_close(struct loop *loop);

/* events: with EPOLLET where SOURCE remembers what is ready. 0 or a negative errno. */
int loop_add(const struct loop *loop, int fd, uint32_t events, struct source *source);
int loop_change(const struct loop *loop, int fd, uint32_t events, struct source *source);

void loop_later(struct loop *loop, struct task *task);

/* TASK runs at the end of the next turn, behind whatever that brings: what nobody else waits for. So memory can be given back there: no event
 * that was under way is left by then, nor a task that was queued. (Later still would take a timer, which costs more than is put off.) */
void loop_put_off(struct loop *loop, struct task *task);
/* All that was put off, now. Nothing else is left to do. */
void loop_catch_up(struct loop *loop);

/* Somebody was asked who may be on this host and answer at once. Going to sleep and being woken takes longer then than all else that an answer
 * needs, in a virtual machine above all; so for as long as that takes the loop only looks, and lets others run. Not for what may come at any
 * time: a processor that only looks does not sleep. */
static inline void loop_expect(struct loop *loop) {
        loop->expects_until_us = loop->now_us + LOOP_EXPECT_US;
}

/* Until stopped is set. */
int loop_run(struct loop *loop, struct error *err);
