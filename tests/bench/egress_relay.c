/* egress_relay copy|splice PORT DESTINATION-PORT: the least that a relay is, as a measure for those that also check something. One connection
 * at a time, in both directions, nothing looked at, nothing counted, no deadline. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CHUNK (512 << 10) /* the best of 64 KiB to 1 MiB, for copying */
#define PIPE (1 << 20)    /* the most that everybody may have (/proc/sys/fs/pipe-max-size), and the best for splice(2) */

static void die(const char *what) {
        perror(what);
        exit(1);
}

static struct sockaddr_in loopback(int port) {
        return (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

static int listen_on(int port) {
        struct sockaddr_in at = loopback(port);
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        if (bind(fd, (struct sockaddr *)&at, sizeof at) < 0 || listen(fd, 128) < 0)
                die("listen");
        return fd;
}

static int connect_to(int port) {
        struct sockaddr_in at = loopback(port);
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

        if (connect(fd, (struct sockaddr *)&at, sizeof at) < 0)
                die("connect");
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        return fd;
}

/* Blocking writes; 0 at the end. */
static ssize_t copy(int from, int to) {
        static char buffer[CHUNK];
        ssize_t n = recv(from, buffer, sizeof buffer, 0), at = 0;

        while (at < n) {
                ssize_t r = send(to, buffer + at, (size_t)(n - at), MSG_NOSIGNAL);

                if (r < 0)
                        return 0;
                at += r;
        }
        return n < 0 ? 0 : n;
}

static ssize_t through_pipe(int from, int to, const int pipe[2]) {
        ssize_t n = splice(from, NULL, pipe[1], NULL, PIPE, SPLICE_F_MOVE), left = n;

        while (left > 0) {
                ssize_t r = splice(pipe[0], NULL, to, NULL, (size_t)left, SPLICE_F_MOVE);

                if (r <= 0)
                        return 0;
                left -= r;
        }
        return n < 0 ? 0 : n;
}

static void relay(int a, int b, const int *pipe) {
        struct pollfd fds[2] = { { a, POLLIN, 0 }, { b, POLLIN, 0 } };
        int open = 2;

        while (open && poll(fds, 2, -1) >= 0)
                for (int i = 0; i < 2; i++) {
                        int from = fds[i].fd, to = i ? a : b;

                        if (from < 0 || !fds[i].revents)
                                continue;
                        if ((pipe ? through_pipe(from, to, pipe) : copy(from, to)) > 0)
                                continue;
                        shutdown(to, SHUT_WR);
                        fds[i].fd = -1;
                        open--;
                }
}

int main(int argc, char **argv) {
        int pipe[2], listener;
        bool splices;

        if (argc != 4)
                return fprintf(stderr, "usage: egress_relay copy|splice PORT DESTINATION-PORT\n"), 2;
        splices = strcmp(argv[1], "splice") == 0;
        if (pipe2(pipe, O_CLOEXEC) < 0 || fcntl(pipe[1], F_SETPIPE_SZ, PIPE) < 0)
                die("pipe");
        listener = listen_on(atoi(argv[2]));
        signal(SIGPIPE, SIG_IGN);
        for (;;) {
                int a = accept4(listener, NULL, NULL, SOCK_CLOEXEC), b = connect_to(atoi(argv[3]));

                relay(a, b, splices ? pipe : NULL);
                close(a);
                close(b);
        }
}
