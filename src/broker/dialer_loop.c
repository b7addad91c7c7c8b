#define _GNU_SOURCE
#include "broker/dialer_loop.h"

#include "base/fd.h"
#include "base/process.h"
#include "broker/passing.h"

#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* At a time; the front's further requests wait in its socket. */
#define DIALS_MAX 256u

/* In one turn: whoever sends without end shall not be all that we hear of. */
#define REQUESTS_AT_ONCE 512u

/* For the front to end when it was told to. One that is ours resets its connections and is gone at once. */
#define STOP_NS 2000000000ull
/* Before a helper is started ahead: the front, and whoever waits for it, have better use for the processors. */
#define HEAD_START_MS 2

enum { ID_SOCKET = 1, ID_FRONT, ID_SIGNALS };
#define ID_HELPERS (UINT64_C(1) << 32)
#define ID_DIALS (UINT64_C(1) << 33)

static struct dial dials[DIALS_MAX];

struct loop {
        struct dialer_process *process;
        size_t n;        /* no dial in use has this number or a greater one */
        uint32_t events; /* that we wait for at our socket */
        int processor;   /* the one we keep to; -1: any */
        bool unsent;     /* an answer did not fit into it */
        uint64_t now_ns;
        uint64_t stop_ns; /* when the front is killed, UINT64_MAX: nobody told it to end */
};

static uint64_t now(void) {
        struct timespec t;

        clock_gettime(CLOCK_MONOTONIC, &t);
        return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* The broker ends with its front, and leaves no helper to whoever reaps orphans here. */
__attribute__((noreturn)) static void end(struct loop *loop) {
        int status = 1;

        helpers_end(&loop->process->dialing.helpers);
        if (process_reap(loop->process->front, &status) < 0)
                status = 1;
        _exit(status); /* what the front's main() had not yet flushed is the front's */
}

/* It is not our front any more, or does not do as it is told. */
__attribute__((noreturn)) static void end_front(struct loop *loop) {
        process_signal(loop->process->front, SIGKILL);
        end(loop);
}

static void pass_signal_on(struct loop *loop) {
        struct signalfd_siginfo info;

        if (read(loop->process->signals, &info, sizeof info) != sizeof info)
                return;
        process_signal(loop->process->front, (int)info.ssi_signo);
        if (loop->stop_ns == UINT64_MAX)
                loop->stop_ns = loop->now_ns + STOP_NS;
}

/* ---- requests and answers -------------------------------------------------------------------------------------------- */

static struct dial *free_dial(void) {
        for (size_t i = 0; i < DIALS_MAX; i++)
                if (dials[i].state == DIAL_NONE)
                        return &dials[i];
        return NULL;
}

/* To the processor that the front runs on: the two take turns, and waking a processor that sleeps costs more than all that a request needs
 * here, in a virtual machine above all. The kernel moves the front as it likes; helpers may run anywhere. A front that is not ours any more
 * can send us around, among the processors that we were started on (taskset(1)). */
static void follow(struct loop *loop, int processor) {
        cpu_set_t one;

        if (processor == loop->processor || processor < 0 || processor >= CPU_SETSIZE ||
                !CPU_ISSET(processor, &loop->process->dialing.helpers.processors))
                return;
        loop->processor = processor;
        CPU_ZERO(&one);
        CPU_SET(processor, &one);
        (void)sched_setaffinity(0, sizeof one, &one); /* not where a cpuset does not have it */
}

static void begin(struct loop *loop, struct dial *d, const struct dialer_request *request) {
        d->number = (uint32_t)(d - dials);
        d->id = ID_DIALS + d->number;
        if (d->number >= loop->n)
                loop->n = d->number + 1;
        dial_begin(&loop->process->dialing, d, request, loop->now_ns);
}

static void release(struct dial *d) {
        dialer_drop(&d->answer);
        d->state = DIAL_NONE;
}

static void cancel(struct loop *loop, uint32_t tag) {
        for (size_t i = 0; i < loop->n; i++)
                if (dials[i].state != DIAL_NONE && dials[i].answer.tag == tag) {
                        dial_end(&loop->process->dialing, &dials[i]);
                        release(&dials[i]);
                }
}

/* False: it did not fit. */
static bool send_answer(struct loop *loop, struct dialer_answer *answer) {
        const int fds[] = { answer->fd, answer->witness };
        int r = passing_send(loop->process->socket, answer, sizeof *answer, fds, answer->fd < 0 ? 0 : answer->witness < 0 ? 1 : 2);

        /* unix(7): so many descriptors of this user are on their way that RLIMIT_NOFILE forbids one more; not only ours are counted. */
        if (r == -ETOOMANYREFS) {
                dialer_drop(answer);
                answer->refusal = REFUSAL_DIALER_BUSY;
                r = passing_send(loop->process->socket, answer, sizeof *answer, NULL, 0);
        }
        if (r == -EPIPE || r == -ECONNRESET) /* it hears nothing any more, and room that can never be used is all we would be told of */
                end_front(loop);
        return r == 0;
}

/* If D is done, and the front takes it. */
static void answer(struct loop *loop, struct dial *d) {
        if (d->state != DIAL_DONE || loop->unsent)
                return;
        if (!send_answer(loop, &d->answer))
                loop->unsent = true;
        else
                release(d);
}

static void send_answers(struct loop *loop) {
        loop->unsent = false;
        for (size_t i = 0; i < loop->n; i++)
                answer(loop, &dials[i]);
        while (loop->n > 0 && dials[loop->n - 1].state == DIAL_NONE)
                loop->n--;
}

static void read_requests(struct loop *loop) {
        struct dialer_request request;
        struct dial *d;

        for (unsigned i = 0; i < REQUESTS_AT_ONCE && (d = free_dial()); i++) {
                ssize_t n = recv(loop->process->socket, &request, sizeof request, MSG_DONTWAIT);

                if (n < 0)
                        return;
                /* Closed by the front, or no message of its kind. */
                if (n != sizeof request || (request.verb != DIALER_CONNECT && request.verb != DIALER_CANCEL))
                        end_front(loop);
                if (request.verb == DIALER_CANCEL) {
                        cancel(loop, request.tag);
                        continue;
                }
                follow(loop, request.processor);
                begin(loop, d, &request);
                answer(loop, d);
        }
}

/* ---- helpers --------------------------------------------------------------------------------------------------------- */

static struct dial *owner_of(struct loop *loop, size_t number) {
        const struct helper *h = &loop->process->dialing.helpers.list[number];
        struct dial *d = h->state == HELPER_BUSY && h->owner < DIALS_MAX ? &dials[h->owner] : NULL;

        return d && d->state != DIAL_NONE && d->helper == (int)number ? d : NULL;
}

static void hear_helper(struct loop *loop, size_t number) {
        struct dialing *dialing = &loop->process->dialing;
        struct helper *h = &dialing->helpers.list[number];
        struct dial *d = owner_of(loop, number);
        union {
                struct lookup_answer lookup;
                struct tls_answer tls;
        } answer;
        ssize_t n;

        if (h->state != HELPER_IDLE && h->state != HELPER_BUSY)
                return;
        n = recv(h->socket, &answer, sizeof answer, MSG_DONTWAIT);
        if (n < 0 && errno == EAGAIN)
                return;
        if (n > 0 && d) {
                dial_hear(dialing, d, &answer, (size_t)n, loop->now_ns);
                return;
        }
        /* It has ended, or speaks unasked. */
        if (h->state == HELPER_IDLE)
                dialing->helpers.retry_ns = loop->now_ns + HELPERS_RETRY_NS;
        helpers_kill(&dialing->helpers, number);
        if (d)
                dial_hear(dialing, d, NULL, 0, loop->now_ns);
}

static void reap_helper(struct loop *loop, size_t number) {
        struct dialing *dialing = &loop->process->dialing;
        struct dial *d = owner_of(loop, number);

        /* What it sent before its end. */
        hear_helper(loop, number);
        if (helpers_reap(&dialing->helpers, number, loop->now_ns) == HELPER_BUSY && d && d->helper == (int)number)
                dial_hear(dialing, d, NULL, 0, loop->now_ns);
}

/* ---- the loop -------------------------------------------------------------------------------------------------------- */

static void dispatch(struct loop *loop, uint64_t id) {
        if (id == ID_FRONT)
                end(loop);
        else if (id == ID_SIGNALS)
                pass_signal_on(loop);
        else if (id == ID_SOCKET)
                read_requests(loop);
        else if (id >= ID_DIALS)
                dial_step(&loop->process->dialing, &dials[id - ID_DIALS], loop->now_ns);
        else if ((id - ID_HELPERS) % 2 == 0)
                hear_helper(loop, (id - ID_HELPERS) / 2);
        else
                reap_helper(loop, (id - ID_HELPERS) / 2);
}

/* Those whose time has come, and those that wait for a helper. */
static void step_all(struct loop *loop) {
        for (size_t i = 0; i < loop->n; i++) {
                struct dial *d = &dials[i];
                bool waits = (d->state == DIAL_LOOKUP || d->state == DIAL_LOOKUP_UPSTREAM || d->state == DIAL_TLS) && d->helper < 0;

                if (waits || loop->now_ns >= dial_wake(d))
                        dial_step(&loop->process->dialing, d, loop->now_ns);
        }
}

static int timeout_ms(struct loop *loop) {
        uint64_t first = helpers_next_deadline(&loop->process->dialing.helpers);

        if (loop->stop_ns < first)
                first = loop->stop_ns;
        for (size_t i = 0; i < loop->n; i++)
                if (dial_wake(&dials[i]) < first)
                        first = dial_wake(&dials[i]);
        if (first == UINT64_MAX)
                return -1;
        loop->now_ns = now();
        return first <= loop->now_ns ? 0 : (int)((first - loop->now_ns + 999999) / 1000000 % INT32_MAX);
}

static void watch(struct loop *loop, int op, int fd, uint32_t events, uint64_t id) {
        struct epoll_event event = { .events = events, .data.u64 = id };

        if (epoll_ctl(loop->process->dialing.epoll, op, fd, &event) < 0)
                _exit(1);
}

/* Reads no more requests than there is room for, and waits for room in the socket only when an answer needs it. */
static void adjust_interest(struct loop *loop) {
        uint32_t events = (free_dial() ? EPOLLIN : 0u) | (loop->unsent ? EPOLLOUT : 0u);

        if (events != loop->events)
                watch(loop, EPOLL_CTL_MOD, loop->process->socket, events, ID_SOCKET);
        loop->events = events;
}

void dialer_loop(struct dialer_process *process) {
        struct loop loop = { .process = process, .events = EPOLLIN, .processor = -1, .stop_ns = UINT64_MAX };
        struct epoll_event events[64];
        bool begun = false;

        process->dialing.helpers.data = ID_HELPERS;
        (void)sched_getaffinity(0, sizeof(cpu_set_t), &process->dialing.helpers.processors);
        watch(&loop, EPOLL_CTL_ADD, process->socket, EPOLLIN, ID_SOCKET);
        watch(&loop, EPOLL_CTL_ADD, process->front, EPOLLIN, ID_FRONT);
        watch(&loop, EPOLL_CTL_ADD, process->signals, EPOLLIN, ID_SIGNALS);
        for (;;) {
                int n = epoll_wait(process->dialing.epoll, events, (int)ELEMENTSOF(events), begun ? timeout_ms(&loop) : HEAD_START_MS);

                begun = true;
                loop.now_ns = now();
                for (int i = 0; i < n; i++)
                        dispatch(&loop, events[i].data.u64);
                if (loop.now_ns >= loop.stop_ns)
                        end_front(&loop);
                step_all(&loop);
                send_answers(&loop);
                helpers_tend(&process->dialing.helpers, loop.now_ns);
                adjust_interest(&loop);
        }
}
