#define _GNU_SOURCE
#include "base/fd_send.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include "base/fd.h"

enum { RECEIVER_WAIT_S = 10 };

/* unix(7): sun_path holds 108 bytes. A longer path goes through a descriptor of its directory; a name alone always fits (NAME_MAX 255 does
 * not, and then the kernel could not have bound it either, but by the same trick with a shorter name). */
static int make_address(const char *path, int *ret_dir, struct sockaddr_un *ret_address) {
        const char *slash = strrchr(path, '/');
        _cleanup_close_ int dir = -1;
        char parent[4096];

        *ret_address = (struct sockaddr_un){ .sun_family = AF_UNIX };
        if (strlen(path) < sizeof ret_address->sun_path) {
                memcpy(ret_address->sun_path, path, strlen(path) + 1);
                return 0;
        }
        if (!slash || snprintf(parent, sizeof parent, "%.*s/", (int)(slash - path), path) >= (int)sizeof parent)
                return -ENAMETOOLONG;
        dir = open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (dir < 0)
                return -errno;
        if (snprintf(ret_address->sun_path, sizeof ret_address->sun_path, "%s/%s", fd_path(dir).path, slash + 1) >=
                (int)sizeof ret_address->sun_path)
                return -ENAMETOOLONG;
        *ret_dir = take_fd(&dir);
        return 0;
}

static int send_with(int connection, const void *data, size_t size, int fd) {
        union {
                char space[CMSG_SPACE(sizeof(int))];
                struct cmsghdr header;
        } control = { 0 };
        struct iovec iov = { .iov_base = (void *)(uintptr_t)data, .iov_len = size };
        struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control };
        ssize_t n;

        control.header = (struct cmsghdr){ .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof fd) };
        memcpy(CMSG_DATA(&control.header), &fd, sizeof fd);
        do
                n = sendmsg(connection, &message, MSG_NOSIGNAL);
        while (n < 0 && errno == EINTR);
        if (n < 0)
                return -errno;
        return (size_t)n == size ? 0 : -EIO;
}

/* Its connect(2) and sendmsg(2) fail with EAGAIN where nobody accepts or reads and they would wait without end (socket(7), SO_SNDTIMEO). */
static int impatient_socket(void) {
        const struct timeval wait = { .tv_sec = RECEIVER_WAIT_S };
        _cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait) < 0)
                return -errno;
        return take_fd(&fd);
}

int fd_send(const char *path, const char *receiver, const char *where, const void *data, size_t size, int fd, struct error *err) {
        _cleanup_close_ int dir = -1, connection = impatient_socket();
        struct sockaddr_un address;
        int r;

        if (!where)
                where = path;
        if (connection < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, -connection, where, "cannot make a socket");
        if ((r = make_address(path, &dir, &address)) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, -r, where, "cannot connect to %s %s", receiver, path);
        r = connect(connection, (struct sockaddr *)&address, sizeof address) < 0 ? -errno : 0;
        if (r < 0 && r != -EAGAIN)
                return fail_errno(err, CODE_LAUNCH_FAILED, -r, where, "cannot connect to %s %s", receiver, path);
        if (r == 0)
                r = send_with(connection, data, size, fd);
        if (r == -EAGAIN)
                return fail(err, CODE_TIMEOUT, ETIMEDOUT, where, "nobody accepts at %s %s within %d s", receiver, path, RECEIVER_WAIT_S);
        return r < 0 ? fail_errno(err, CODE_LAUNCH_FAILED, -r, where, "cannot send a descriptor to %s %s", receiver, path) : 0;
}
