#define _GNU_SOURCE
#include "broker/passing.h"

#include "base/fd.h"

#include <string.h>
#include <sys/socket.h>

union control {
        struct cmsghdr header;
        char room[CMSG_SPACE(PASSING_MAX * sizeof(int))];
};

int passing_send(int socket, const void *data, size_t size, const int *fds, size_t n) {
        struct iovec part = { (void *)data, size };
        union control control = { 0 };
        struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
        ssize_t sent;

        if (n > 0) {
                control.header = (struct cmsghdr){
                        .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(n * sizeof *fds)
                };
                memcpy(CMSG_DATA(&control.header), fds, n * sizeof *fds);
                message.msg_control = &control;
                message.msg_controllen = CMSG_SPACE(n * sizeof *fds);
        }
        sent = sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        return sent < 0 ? -errno : (size_t)sent == size ? 0 : -EPROTO;
}

/* How many there are in HEADER; all of them belong to us now. */
static size_t take(const struct cmsghdr *header, int fds[PASSING_MAX]) {
        size_t size;

        if (!header || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS || header->cmsg_len < CMSG_LEN(0))
                return 0;
        size = header->cmsg_len - CMSG_LEN(0);
        if (size > PASSING_MAX * sizeof *fds)
                size = PASSING_MAX * sizeof *fds;
        memcpy(fds, CMSG_DATA(header), size);
        return size / sizeof *fds;
}

ssize_t passing_receive(int socket, void *data, size_t size, int *fds, size_t n, int flags) {
        struct iovec part = { data, size };
        union control control = { 0 };
        struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control };
        int all[PASSING_MAX] = { -1, -1, -1 };
        ssize_t got = recvmsg(socket, &message, flags | MSG_CMSG_CLOEXEC);
        size_t found;

        if (got < 0)
                return -errno;
        found = take(CMSG_FIRSTHDR(&message), all);
        for (size_t i = 0; i < n; i++)
                fds[i] = -1;
        if (found == n && !(message.msg_flags & MSG_CTRUNC))
                memcpy(fds, all, n * sizeof *fds);
        else
                for (size_t i = 0; i < found; i++)
                        close_fd(&all[i]);
        return got;
}
