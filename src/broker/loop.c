#define _GNU_SOURCE
#include "broker/loop.h"

#include "base/fd.h"
#include "base/time.h"

#include <limits.h>
#include <sched.h>
#include <sys/epoll.h>

/* Small, so that the clock is looked at often whatever the flood. */
#define BATCH 64

int loop_open(struct loop *loop, struct error *err) {
        *loop = (struct loop){ .epoll = epoll_create1(EPOLL_CLOEXEC), .now_us = time_monotonic_us() };
        return loop->epoll < 0 ? fail_errno(err, CODE_LAUNCH_FAILED, errno, "", "cannot watch sockets") : 0;
}

void loop_close(struct loop *loop) {
        close_fd(&loop->epoll);
        deadlines_free(&loop->deadlines);
}

int loop_add(const struct loop *loop, int fd, uint32_t events, struct source *source) {
        struct epoll_event event = { .events = events, .data.ptr = source };

        return epoll_ctl(loop->epoll, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

int loop_change(const struct loop *loop, int fd, uint32_t events, struct source *source) {
        struct epoll_event event = { .events = events, .data.ptr = source };

        return epoll_ctl(loop->epoll, EPOLL_CTL_MOD, fd, &event) < 0 ? -errno : 0;
}

static void append(struct task_queue *queue, struct task *task) {
        task->next = NULL;
        *(queue->first ? queue->last : &queue->first) = task;
        queue->last = &task->next;
}

static struct task *take_all(struct task_queue *queue) {
        struct task *first = queue->first;

        queue->first = NULL;
        return first;
}

void loop_later(struct loop *loop, struct task *task) {
        if (task->queued)
                return;
        task->queued = true;
        append(&loop->later, task);
}

void loop_put_off(struct loop *loop, struct task *task) {
        if (task->queued)
                return;
        task->queued = true;
        append(&loop->put_off, task);
}

static void run_put_off(struct task *task) {
        for (struct task *next; task; task = next) {
                next = task->next;
                task->queued = false;
                task->run(task);
        }
}

void loop_catch_up(struct loop *loop) {
        loop->idle = true;
        run_put_off(take_all(&loop->put_off));
}

/* Between any two things that happen, so that a deadline is late by the length of one of them at most. */
static void look_at_clock(struct loop *loop) {
        struct deadline *first;

        loop->now_us = time_monotonic_us();
        while ((first = deadline_first(&loop->deadlines)) && first->at_us <= loop->now_us) {
                deadline_clear(&loop->deadlines, first);
                first->passed(first);
        }
}

/* Milliseconds for epoll_wait(2), rounded up. */
static int time_to_wait(const struct loop *loop) {
        const struct deadline *first = deadline_first(&loop->deadlines);
        uint64_t at = first ? first->at_us : UINT64_MAX, ms;

        if (loop->later.first || loop->put_off.first)
                return 0;
        if (at == UINT64_MAX)
                return -1;
        ms = at <= loop->now_us ? 0 : (at - loop->now_us + 999) / 1000;
        return ms < INT_MAX ? (int)ms : INT_MAX;
}

/* All that was ready has said so by now, so a task runs once after every wait. Those that are queued while these run wait for the next. */
static void run_tasks(struct loop *loop) {
        for (struct task *task = take_all(&loop->later), *next; task; task = next) {
                next = task->next;
                task->queued = false;
                task->run(task);
                look_at_clock(loop);
        }
}

static int wait(struct loop *loop, struct epoll_event events[BATCH]) {
        while (loop->now_us < loop->expects_until_us && time_to_wait(loop) != 0) {
                int n = epoll_wait(loop->epoll, events, BATCH, 0);

                if (n != 0)
                        return n;
                sched_yield();
                loop->now_us = time_monotonic_us();
        }
        return epoll_wait(loop->epoll, events, BATCH, time_to_wait(loop));
}

int loop_run(struct loop *loop, struct error *err) {
        struct epoll_event events[BATCH];

        look_at_clock(loop);
        while (!loop->stopped) {
                struct task *put_off;
                int n = wait(loop, events);

                if (n < 0 && errno != EINTR)
                        return fail_errno(err, CODE_INTERNAL, errno, "", "cannot wait for sockets");
                loop->idle = n <= 0;
                look_at_clock(loop);
                put_off = take_all(&loop->put_off);
                for (int i = 0; i < n && !loop->stopped; i++) {
                        struct source *source = events[i].data.ptr;

                        source->ready(source, events[i].events);
                        look_at_clock(loop);
                }
                run_tasks(loop);
                run_put_off(put_off);
        }
        return 0;
}
