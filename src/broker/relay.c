#define _GNU_SOURCE
#include "broker/relay.h"

#include "base/fd.h"

#include <fcntl.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#define EVENTS (EPOLLIN | EPOLLRDHUP | EPOLLPRI | EPOLLET)

int side_watch(struct side *side, const struct loop *loop) {
        side->epoll = loop->epoll;
        side->writable = true;
        return loop_add(loop, side->fd, EVENTS, &side->source);
}

/* epoll_ctl(2) looks at the socket anew, so room that there is again by now makes an event. */
static void side_is_full(struct side *side) {
        struct epoll_event event = { .events = EVENTS | EPOLLOUT, .data.ptr = &side->source };

        side->writable = false;
        if (!side->watches_output)
                (void)epoll_ctl(side->epoll, EPOLL_CTL_MOD, side->fd, &event);
        side->watches_output = true;
}

static void side_fails(struct side *side, int error) {
        socklen_t size = sizeof error;

        side->failed = side->readable = side->hung_up = true;
        if (error == 0)
                (void)getsockopt(side->fd, SOL_SOCKET, SO_ERROR, &error, &size);
        if (side->error == 0)
                side->error = error;
}

void side_ready(struct side *side, uint32_t events) {
        side->readable |= (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
        side->writable |= (events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) != 0;
        side->hung_up |= (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
        if (events & EPOLLERR)
                side_fails(side, 0);
        side->urgent |= (events & EPOLLPRI) != 0;
}

void side_close(struct side *side, bool reset) {
        const struct linger linger = { .l_onoff = 1, .l_linger = 0 };

        if (side->fd < 0)
                return;
        /* Closing the last descriptor of a socket does it (epoll(7), Q6). */
        if (side->shared)
                (void)epoll_ctl(side->epoll, EPOLL_CTL_DEL, side->fd, NULL);
        if (reset) {
                close_fd(&side->witness);
                (void)setsockopt(side->fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
        } else if (side->witness >= 0) {
                (void)!send(side->witness, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
        }
        close_fd(&side->fd);
        close_fd(&side->witness);
}

void side_leave(struct side *side) {
        int unsent = 0;

        side_close(side, side->witness < 0 && !side->hung_up && ioctl(side->fd, SIOCOUTQ, &unsent) == 0 && unsent == 0);
}

/* TCP: EPIPE for a socket in CLOSE_WAIT (tcp_reset() of the kernel). */
bool side_ended_in_order(const struct side *side) {
        char word;

        if (side->witness >= 0)
                return recv(side->witness, &word, 1, MSG_DONTWAIT) == 1;
        return !side->failed || side->error == EPIPE;
}

/* Is there a byte that may not be read? */
static ssize_t probe(struct flow *flow, struct side *from) {
        ssize_t got;
        char byte;

        do
                got = recv(from->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
        while (got < 0 && errno == EINTR);
        if (got > 0)
                return -EFBIG;
        from->readable = false;
        flow->ended |= got == 0;
        return got < 0 ? -errno : 0;
}

/* recv(2) stops before an urgent byte, but one that begins at it drops it and goes on. epoll_wait(2) tells of it first (EPOLLPRI), so one
 * read after one wait never passes it. splice(2) would not pass it at all, and say EAGAIN for ever. */
ssize_t flow_read(struct flow *flow, struct side *from, char *buffer, size_t n) {
        uint64_t left = flow->limit - flow->seen;
        ssize_t got;

        if (!from->readable)
                return -EAGAIN;
        if (left == 0)
                return probe(flow, from);
        if (n > left)
                n = (size_t)left;
        do
                got = recv(from->fd, buffer, n, MSG_DONTWAIT);
        while (got < 0 && errno == EINTR);
        if (got <= 0) {
                from->readable = false;
                flow->ended |= got == 0;
                return got < 0 ? -errno : 0;
        }
        flow->much = (size_t)got >= RELAY_MUCH;
        /* Less than asked for is all there was; what comes later makes an event of its own (epoll(7)), unless the end has come already. */
        if ((size_t)got < n && !from->hung_up)
                from->readable = false;
        flow->seen += (uint64_t)got;
        return got;
}

/* A relay sends what it has. The first send goes out at once (tcp_nagle_check() of the kernel), and of a plain request is all there is. */
static void before_send(struct side *to) {
        const int on = 1;

        if (to->delays && to->has_sent) {
                (void)setsockopt(to->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on); /* a Unix socket has no such option, and never delays */
                to->delays = false;
        }
        to->has_sent = true;
}

/* How many of the N bytes have gone: less than N when TO takes no more now, or a negative errno. */
static ssize_t send_some(struct side *to, const char *data, size_t n) {
        /* tcp_send_fin() of the kernel: what still waits for more takes the end along, so the peer is sent, and woken by, one segment. */
        int flags = MSG_NOSIGNAL | MSG_DONTWAIT | (to->ends ? MSG_MORE : 0);
        size_t sent = 0;

        before_send(to);
        while (sent < n && to->writable) {
                ssize_t r = send(to->fd, data + sent, n - sent, flags);

                if (r >= 0)
                        sent += (size_t)r;
                else if (errno == EAGAIN)
                        side_is_full(to);
                else if (errno != EINTR) {
                        side_fails(to, errno);
                        return -to->error;
                }
        }
        return (ssize_t)sent;
}

int flow_send(struct flow *flow, struct side *to, const char *data, size_t n) {
        ssize_t sent = flow_is_held(flow) ? 0 : send_some(to, data, n);

        if (sent < 0)
                return (int)sent;
        if ((size_t)sent < n)
                str_add(&flow->held, data + sent, n - (size_t)sent);
        return 0;
}

/* As flow_read(), into a pipe. -ENOBUFS: there is none. Less than asked for may be all that the pipe has slots for, so nothing follows from
 * it; and what is read never steps over urgent data. */
static ssize_t read_into_pipe(struct flow *flow, struct side *from, size_t n) {
        uint64_t left = flow->limit - flow->seen;
        ssize_t got;

        if (!from->readable)
                return -EAGAIN;
        if (!pipes_take(flow->pipes, &flow->pipe))
                return -ENOBUFS;
        do
                got = splice(from->fd, NULL, flow->pipe.in, NULL, n < left ? n : (size_t)left, SPLICE_F_NONBLOCK);
        while (got < 0 && errno == EINTR);
        if (got <= 0) {
                int error = errno;

                pipes_give(flow->pipes, &flow->pipe, true);
                from->readable = false;
                flow->ended |= got == 0;
                return got < 0 ? -error : 0;
        }
        flow->piped = (uint32_t)got;
        flow->much = (size_t)got >= RELAY_MUCH;
        flow->seen += (uint64_t)got;
        return got;
}

/* 0 when nothing is left, -EAGAIN, or what the socket says. */
static int flush_pipe(struct flow *flow, struct side *to) {
        if (!flow->piped)
                return 0;
        before_send(to);
        while (flow->piped && to->writable) {
                ssize_t sent = splice(flow->pipe.out, NULL, to->fd, NULL, flow->piped, SPLICE_F_NONBLOCK);

                if (sent > 0)
                        flow->piped -= (uint32_t)sent;
                else if (errno == EAGAIN)
                        side_is_full(to);
                else if (errno != EINTR) {
                        side_fails(to, errno);
                        return -to->error;
                }
        }
        if (flow->piped)
                return -EAGAIN;
        pipes_give(flow->pipes, &flow->pipe, true);
        return 0;
}

static int flush_held(struct flow *flow, struct side *to) {
        ssize_t sent;

        if (flow->held.size == flow->held_at)
                return 0;
        sent = send_some(to, flow->held.text + flow->held_at, flow->held.size - flow->held_at);
        if (sent < 0)
                return (int)sent;
        flow->held_at += (uint32_t)sent;
        if (flow->held.size > flow->held_at)
                return -EAGAIN;
        str_free(&flow->held);
        flow->held_at = 0;
        return 0;
}

int flow_flush(struct flow *flow, struct side *to) {
        int r = flush_held(flow, to);

        return r < 0 ? r : flush_pipe(flow, to);
}

void flow_end(struct flow *flow) {
        str_free(&flow->held);
        flow->held_at = 0;
        if (flow->piped)
                pipes_give(flow->pipes, &flow->pipe, false);
        flow->piped = 0;
        flow->ended = flow->shut = true;
}

static bool takes_a_pipe(const struct flow *flow, size_t size) {
        return flow->pipes && flow->much && size >= RELAY_MUCH && flow->seen < flow->limit;
}

/* Sends what was read just now, N bytes of BUFFER or what lies in the pipe. */
static int send_on(struct flow *flow, struct side *to, const char *buffer, size_t n) {
        int r = flow->piped ? flush_pipe(flow, to) : flow_send(flow, to, buffer, n);

        return r == -EAGAIN ? 0 : r;
}

enum relay flow_pump(struct flow *flow, struct side *from, struct side *to, char *buffer, size_t size) {
        int r = flow_flush(flow, to);
        ssize_t n;

        if (r < 0)
                return r == -EAGAIN ? RELAY_WAIT : RELAY_TO_FAILED;
        if (!flow->ended) {
                n = takes_a_pipe(flow, size) ? read_into_pipe(flow, from, size) : -ENOBUFS;
                if (n == -ENOBUFS)
                        n = flow_read(flow, from, buffer, size);
                if (n < 0)
                        return n == -EAGAIN ? RELAY_WAIT : n == -EFBIG ? RELAY_LIMIT : RELAY_FROM_FAILED;
                if (n > 0 && send_on(flow, to, buffer, (size_t)n) < 0)
                        return RELAY_TO_FAILED;
                /* The reason was told to whoever asked first, perhaps to a send; the end that is read then is none. */
                if (n == 0 && !side_ended_in_order(from))
                        return RELAY_FROM_FAILED;
                if (n > 0)
                        return from->readable && !flow_is_held(flow) ? RELAY_AGAIN : RELAY_WAIT;
        }
        if (!flow->shut && shutdown(to->fd, SHUT_WR) < 0 && errno != ENOTCONN)
                return RELAY_TO_FAILED;
        flow->shut = true;
        return RELAY_OVER;
}
