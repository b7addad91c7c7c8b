#define _GNU_SOURCE
#include "broker/listener.h"

#include "base/fd.h"
#include "broker/connection.h"
#include "broker/reply.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#define BACKLOG 1024
#define PAUSE_US 50000u /* without descriptors or memory; an end resumes at once */

static int parse_address(const char *where, struct sockaddr_storage *ret, socklen_t *ret_size, struct error *err) {
        struct sockaddr_in *v4 = (struct sockaddr_in *)ret;
        struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)ret;
        const char *colon = strrchr(where, ':');
        struct authority a;
        uint64_t port;

        /* Port 0 is none of a destination's. */
        if (!colon || str_to_u64(colon + 1, UINT16_MAX, &port) < 0 || authority_parse_host(where, (size_t)(colon - where), &a) ||
                a.kind != HOST_ADDRESS)
                return fail(err, CODE_USAGE, EINVAL, "--listen", "expected ADDRESS:PORT, 127.0.0.1:3128 or [::1]:3128, found `%s`", where);
        *ret = (struct sockaddr_storage){ .ss_family = a.address.v6 ? AF_INET6 : AF_INET };
        *ret_size = a.address.v6 ? sizeof *v6 : sizeof *v4;
        if (a.address.v6) {
                v6->sin6_port = htons((uint16_t)port);
                memcpy(&v6->sin6_addr, a.address.bytes, 16);
        } else {
                v4->sin_port = htons((uint16_t)port);
                memcpy(&v4->sin_addr, a.address.bytes, 4);
        }
        return 0;
}

static void name_socket(int fd, struct listener_name *ret) {
        struct sockaddr_storage at = { 0 };
        socklen_t size = sizeof at;
        const struct sockaddr_in *v4 = (struct sockaddr_in *)&at;
        const struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&at;
        bool is_v6;
        struct address a;

        (void)getsockname(fd, (struct sockaddr *)&at, &size);
        is_v6 = at.ss_family == AF_INET6;
        a = address_from_bytes(is_v6, is_v6 ? v6->sin6_addr.s6_addr : (const uint8_t *)&v4->sin_addr);
        snprintf(ret->text, sizeof ret->text, is_v6 ? "[%s]:%u" : "%s:%u", address_print(&a).text,
                ntohs(is_v6 ? v6->sin6_port : v4->sin_port));
}

int listeners_add(struct listeners *listeners, const char *where, struct listener_name *ret_name, struct error *err) {
        _cleanup_close_ int fd = -1;
        struct sockaddr_storage at;
        struct listener *grown;
        const int on = 1;
        socklen_t size = 0;
        int r = parse_address(where, &at, &size, err);

        if (r < 0)
                return r;
        fd = socket(at.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        /* SO_REUSEADDR: connections of a broker before us may still be in TIME_WAIT. TCP_NODELAY is passed on to what is accepted: a relay
         * sends what it has. */
        if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0 ||
                setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) < 0 ||
                (at.ss_family == AF_INET6 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on) < 0) ||
                bind(fd, (struct sockaddr *)&at, size) < 0 || listen(fd, BACKLOG) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "--listen", "cannot listen on %s", where);
        grown = reallocarray(listeners->items, listeners->n + 1, sizeof *grown);
        if (!grown)
                return fail_errno(err, CODE_RESOURCE_EXHAUSTED, ENOMEM, "--listen", "no memory");
        listeners->items = grown;
        name_socket(fd, ret_name);
        grown[listeners->n++] = (struct listener){ .fd = take_fd(&fd) };
        return 0;
}

static void watch_all(const struct listeners *listeners, uint32_t events) {
        for (size_t i = 0; i < listeners->n; i++)
                (void)loop_change(&listeners->broker->loop, listeners->items[i].fd, events, &listeners->items[i].source);
}

static void pause_passed(struct deadline *deadline) {
        struct listeners *listeners = (struct listeners *)((char *)deadline - offsetof(struct listeners, resume));

        watch_all(listeners, EPOLLIN);
}

void listeners_resume(struct broker *broker) {
        struct listeners *listeners = broker->listeners;

        if (listeners->resume.place == 0)
                return;
        deadline_clear(&broker->loop.deadlines, &listeners->resume);
        watch_all(listeners, EPOLLIN);
}

/* A client that cannot be accepted stays where it is, and the socket readable: looking at it again and again would be all we do. */
static void pause_all(struct listeners *listeners) {
        watch_all(listeners, 0);
        deadline_set(&listeners->broker->loop.deadlines, &listeners->resume, listeners->broker->loop.now_us + PAUSE_US);
}

/* accept(2): what happened to the one client, and is no reason to stop. */
static bool is_about_the_client(int errnum) {
        return errnum == EINTR || errnum == ECONNABORTED || errnum == EPERM || errnum == EPROTO || errnum == ENOPROTOOPT ||
                errnum == EHOSTDOWN || errnum == ENONET || errnum == EHOSTUNREACH || errnum == EOPNOTSUPP || errnum == ENETUNREACH ||
                errnum == ENETDOWN;
}

static void accepted(struct broker *broker, int fd) {
        if (broker->n_open == broker->n_slots)
                reply_at_once(broker, fd, REFUSAL_CONNECTIONS);
        else if (connection_open(broker, fd) < 0)
                pause_all(broker->listeners);
}

/* One at a time: the loop comes back for the next, and looks after others in between. */
static void listener_ready(struct source *source, uint32_t events) {
        struct listener *listener = (struct listener *)((char *)source - offsetof(struct listener, source));
        int fd = accept4(listener->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

        (void)events;
        if (fd >= 0)
                accepted(listener->broker, fd);
        else if (errno != EAGAIN && !is_about_the_client(errno))
                pause_all(listener->broker->listeners);
}

int listeners_watch(struct broker *broker) {
        struct listeners *listeners = broker->listeners;

        listeners->broker = broker;
        listeners->resume.passed = pause_passed;
        for (size_t i = 0; i < listeners->n; i++) {
                struct listener *l = &listeners->items[i];
                int r;

                l->source.ready = listener_ready;
                l->broker = broker;
                if ((r = loop_add(&broker->loop, l->fd, EPOLLIN, &l->source)) < 0)
                        return r;
        }
        return 0;
}

void listeners_close(struct broker *broker) {
        for (size_t i = 0; i < broker->listeners->n; i++)
                close_fd(&broker->listeners->items[i].fd);
        deadline_clear(&broker->loop.deadlines, &broker->listeners->resume);
}
