#define _GNU_SOURCE
#include "life/sync.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"

struct tell { int32_t token; int32_t pid; };
struct hear { int32_t report; int32_t why_not; struct error error; };

int sync_open(struct sync *ret, struct error *err) {
        int ends[2];

        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "", "cannot make the socket to the child");
        *ret = (struct sync){ .runtime = ends[0], .child = ends[1] };
        return 0;
}

void sync_close(struct sync *sync) {
        close_fd(&sync->runtime);
        close_fd(&sync->child);
}

int sync_tell(int runtime, enum token token, pid_t pid, struct error *err) {
        struct tell message = { .token = token, .pid = pid };

        if (send(runtime, &message, sizeof message, MSG_NOSIGNAL) >= 0 || errno == EPIPE || errno == ECONNRESET)
                return 0;
        return fail_errno(err, CODE_LAUNCH_FAILED, errno, "", "cannot tell the child to go on");
}

pid_t sync_await(int child, enum token token) {
        struct tell message;
        ssize_t n;

        do
                n = recv(child, &message, sizeof message, 0);
        while (n < 0 && errno == EINTR);
        if (n != sizeof message || message.token != (int32_t)token)
                _exit(1);
        return message.pid;
}

static int send_report(int child, const struct hear *message, size_t size, int fd) {
        union { char space[CMSG_SPACE(sizeof(int))]; struct cmsghdr align; } control = { 0 };
        struct iovec iov = { .iov_base = (void *)(uintptr_t)message, .iov_len = size };
        struct msghdr header = { .msg_iov = &iov, .msg_iovlen = 1 };

        if (fd >= 0) {
                struct cmsghdr *rights;

                header.msg_control = &control;
                header.msg_controllen = sizeof control;
                rights = CMSG_FIRSTHDR(&header);
                *rights = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof fd), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS };
                memcpy(CMSG_DATA(rights), &fd, sizeof fd);
        }
        return sendmsg(child, &header, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

int sync_report(int child, enum report report, int fd) {
        const struct hear message = { .report = report };

        return send_report(child, &message, offsetof(struct hear, error), fd);
}

int sync_report_born(int child, int why_not) {
        const struct hear message = { .report = REPORT_BORN, .why_not = why_not };

        return send_report(child, &message, offsetof(struct hear, error), -1);
}

void sync_report_error(int child, const struct error *err) {
        const struct hear message = { .report = REPORT_ERROR, .error = *err };

        /* write(2), because the payload's filter may be in force by now and is likelier to let this one pass. */
        (void)!write(child, &message, sizeof message);
}

int sync_ask_pids(int runtime, struct error *err) {
        const int yes = 1;

        if (setsockopt(runtime, SOL_SOCKET, SO_PASSCRED, &yes, sizeof yes) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "", "cannot ask who speaks on the socket to the child");
        return 0;
}

/* One is all that a message of ours carries. */
static void take_descriptors(const struct cmsghdr *rights, int *ret_fd) {
        for (size_t i = 0; i < (rights->cmsg_len - CMSG_LEN(0)) / sizeof(int); i++) {
                int fd;

                memcpy(&fd, CMSG_DATA(rights) + i * sizeof fd, sizeof fd);
                if (*ret_fd < 0)
                        *ret_fd = fd;
                else
                        close_fd(&fd);
        }
}

/* What came with a message: a descriptor, and since sync_ask_pids() the sender (unix(7)). */
static void take_control(struct msghdr *header, int *ret_fd, pid_t *ret_pid) {
        for (struct cmsghdr *c = CMSG_FIRSTHDR(header); c; c = CMSG_NXTHDR(header, c)) {
                struct ucred sender;

                if (c->cmsg_level != SOL_SOCKET)
                        continue;
                if (c->cmsg_type == SCM_RIGHTS)
                        take_descriptors(c, ret_fd);
                if (c->cmsg_type == SCM_CREDENTIALS) {
                        memcpy(&sender, CMSG_DATA(c), sizeof sender);
                        *ret_pid = sender.pid;
                }
        }
}

int sync_hear(int runtime, enum report *ret, int *ret_fd, pid_t *ret_pid, struct error *err) {
        union { char space[CMSG_SPACE(sizeof(int)) + CMSG_SPACE(sizeof(struct ucred))]; struct cmsghdr align; } control = { 0 };
        struct hear message = { 0 };
        struct iovec iov = { .iov_base = &message, .iov_len = sizeof message };
        struct msghdr header;
        ssize_t n;

        /* A child that ends with a token unread resets the socket. The kernel tells that once, before what the child had said
         * (net/core/datagram.c, __skb_recv_datagram), and its last word is what we are here for. */
        do {
                header = (struct msghdr){ .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control };
                n = recvmsg(runtime, &header, MSG_CMSG_CLOEXEC);
        } while (n < 0 && (errno == EINTR || errno == ECONNRESET));
        *ret_fd = -1;
        if (n < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "", "cannot hear from the child");
        if (n <= 0) {
                *ret = REPORT_GONE;
                return 0;
        }
        take_control(&header, ret_fd, ret_pid);
        *ret = (enum report)message.report;
        if (message.why_not < 0)
                *ret_pid = message.why_not;
        if (message.report == REPORT_ERROR) {
                *err = message.error;
                return error_received(err);
        }
        return 0;
}
