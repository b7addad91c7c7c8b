#define _GNU_SOURCE
#include "broker/connector.h"

#include "base/fd.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>

void connector_begin(struct connector *c, const struct addresses *addresses, uint16_t port) {
        *c = (struct connector){ .addresses = addresses, .port = port, .error = EHOSTUNREACH, .wake_ns = UINT64_MAX };
}

union socket_address {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
};

static socklen_t socket_address(const struct address *a, uint16_t port, union socket_address *ret) {
        if (a->v6) {
                ret->v6 = (struct sockaddr_in6){ .sin6_family = AF_INET6, .sin6_port = htons(port) };
                memcpy(&ret->v6.sin6_addr, a->bytes, 16);
                return sizeof ret->v6;
        }
        ret->v4 = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(port) };
        memcpy(&ret->v4.sin_addr, a->bytes, 4);
        return sizeof ret->v4;
}

/* A new socket on its way to ADDRESS, or a negative errno. */
static int launch(const struct address *a, uint16_t port) {
        union socket_address address;
        socklen_t size = socket_address(a, port, &address);
        _cleanup_close_ int fd = socket(address.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);

        if (fd < 0)
                return -errno;
        if (connect(fd, &address.any, size) < 0 && errno != EINPROGRESS)
                return errno == EAGAIN ? -EADDRNOTAVAIL : -errno; /* ip(7): no free local port */
        return take_fd(&fd);
}

/* 0, -EAGAIN, or why it failed. */
static int outcome(int fd) {
        struct pollfd p = { .fd = fd, .events = POLLOUT };
        int error = 0;
        socklen_t size = sizeof error;

        if (poll(&p, 1, 0) < 1)
                return -EAGAIN;
        if (p.revents == POLLOUT)
                return 0;
        if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0)
                return -errno;
        return -error;
}

static void drop(struct connector_attempt *attempt) {
        if (attempt->pending)
                close_fd(&attempt->fd);
        attempt->pending = false;
}

void connector_end(struct connector *c) {
        for (size_t i = 0; i < CONNECTOR_PARALLEL; i++)
                drop(&c->attempts[i]);
}

static int success(struct connector *c, int fd, uint16_t address, int *ret_fd, struct address *ret_address) {
        *ret_address = c->addresses->list[address];
        *ret_fd = fd;
        return 0;
}

/* The descriptor lives on in another process, and with it would what epoll knows of it. */
static int take_connected(struct connector *c, struct connector_attempt *attempt, int epoll, int *ret_fd, struct address *ret_address) {
        epoll_ctl(epoll, EPOLL_CTL_DEL, attempt->fd, NULL);
        attempt->pending = false;
        return success(c, attempt->fd, attempt->address, ret_fd, ret_address);
}

/* The next address, whose attempt goes to a free place. */
static int try_next(
        struct connector *c, struct connector_attempt *free, int epoll, uint64_t data, int *ret_fd, struct address *ret_address) {
        struct epoll_event event = { .events = EPOLLOUT, .data.u64 = data };
        uint16_t address = c->next++;
        _cleanup_close_ int fd = launch(&c->addresses->list[address], c->port);
        int r = fd < 0 ? fd : outcome(fd);

        if (r == 0)
                return success(c, take_fd(&fd), address, ret_fd, ret_address);
        if (r == -EAGAIN && fd >= 0 && epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0) {
                *free = (struct connector_attempt){ .pending = true, .fd = take_fd(&fd), .address = address };
                return -EAGAIN;
        }
        c->error = r == -EAGAIN ? ENOMEM : -r; /* the one reason of epoll_ctl(2) that is left */
        return -c->error;
}

int connector_step(struct connector *c, int epoll, uint64_t data, uint64_t now_ns, int *ret_fd, struct address *ret_address) {
        struct connector_attempt *free = NULL;
        size_t pending = 0;

        for (size_t i = 0; i < CONNECTOR_PARALLEL; i++) {
                struct connector_attempt *attempt = &c->attempts[i];
                int r = attempt->pending ? outcome(attempt->fd) : -ENOENT;

                if (r == 0)
                        return take_connected(c, attempt, epoll, ret_fd, ret_address);
                if (r != -EAGAIN && attempt->pending) {
                        c->error = -r;
                        c->wake_ns = now_ns;
                        drop(attempt);
                }
                pending += attempt->pending;
                if (!attempt->pending)
                        free = attempt;
        }
        while (c->next < c->addresses->n && free && (pending == 0 || now_ns >= c->wake_ns)) {
                int r = try_next(c, free, epoll, data, ret_fd, ret_address);

                if (r != -EAGAIN && r != 0)
                        continue;
                c->wake_ns = now_ns + CONNECTOR_DELAY_NS;
                if (r == 0)
                        return 0;
                pending++;
                break;
        }
        if (c->next == c->addresses->n || !free)
                c->wake_ns = UINT64_MAX;
        return pending ? -EAGAIN : -c->error;
}
