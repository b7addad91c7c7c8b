/* The two ends of tests/bench/egress: a server, and clients that go to it directly, through a bare relay, or through a proxy.
 *
 *     egress_load server PORT
 *     egress_load bulk   HOW PORT SERVER-PORT BYTES    GB/s of one tunnel, server to client
 *     egress_load first  HOW PORT SERVER-PORT N        µs from connect(2) to the server's first byte, N times, a line each
 *     egress_load short  HOW PORT SERVER-PORT SECONDS  requests a second, sixteen at a time, one connection each
 *     egress_load idle   HOW PORT SERVER-PORT N        N tunnels that do nothing; says "ready", and ends with its standard input
 *     egress_load late   HOW PORT SERVER-PORT SECONDS  how late a tunnel of SECONDS was reset, in ms, while bytes come as fast as they can
 *
 * HOW: plain (there is no proxy at PORT, but the server or a bare relay) or connect. */
#define _GNU_SOURCE
#include "egress_hello.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define CHUNK (256u << 10)
#define AT_ONCE 16

static bool through_proxy, awake; /* awake: we look for what is to come and never sleep */
static int port, server_port;

static void die(const char *what) {
        perror(what);
        exit(1);
}

static double now(void) {
        struct timespec t;

        clock_gettime(CLOCK_MONOTONIC, &t);
        return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static struct sockaddr_in loopback(int number) {
        return (struct sockaddr_in){
                .sin_family = AF_INET, .sin_port = htons((uint16_t)number), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)
        };
}

static ssize_t receive(int fd, void *data, size_t n) {
        ssize_t r;

        while ((r = recv(fd, data, n, awake ? MSG_DONTWAIT : 0)) < 0 && errno == EAGAIN)
                sched_yield();
        return r;
}

/* False at the end. */
static bool read_whole(int fd, void *data, size_t n) {
        for (size_t at = 0; at < n;) {
                ssize_t r = receive(fd, (char *)data + at, n - at);

                if (r <= 0)
                        return false;
                at += (size_t)r;
        }
        return true;
}

static bool write_whole(int fd, const void *data, size_t n) {
        for (size_t at = 0; at < n;) {
                ssize_t r = send(fd, (const char *)data + at, n - at, MSG_NOSIGNAL);

                if (r <= 0)
                        return false;
                at += (size_t)r;
        }
        return true;
}

/* Up to the empty line. A proxy's answer to CONNECT has nothing behind it, and neither has a GET. */
static bool read_head(int fd, char *head, size_t size) {
        size_t at = 0;

        while (at + 1 < size) {
                ssize_t r = receive(fd, head + at, size - at - 1);

                if (r <= 0)
                        return false;
                at += (size_t)r;
                head[at] = '\0';
                if (strstr(head, "\r\n\r\n"))
                        return true;
        }
        return false;
}

/* ---- the server ------------------------------------------------------------------------------------------------------ */

/* Behind the hellos the client says how many bytes it wants. */
static void serve_tunnel(int fd) {
        static char zeros[CHUNK];
        char hello[sizeof client_hello];
        uint64_t wanted;

        if (!read_whole(fd, hello, sizeof hello) || !write_whole(fd, server_flight, sizeof server_flight))
                return;
        while (read_whole(fd, &wanted, sizeof wanted))
                while (wanted) {
                        size_t n = wanted < sizeof zeros ? (size_t)wanted : sizeof zeros;

                        if (!write_whole(fd, zeros, n))
                                return;
                        wanted -= n;
                }
}

static void serve_request(int fd) {
        static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 64\r\nConnection: close\r\n\r\n"
                                     "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde\n";
        char head[4096];

        if (read_head(fd, head, sizeof head))
                write_whole(fd, answer, sizeof answer - 1);
}

static void *serve(void *argument) {
        int fd = (int)(intptr_t)argument;

        serve_tunnel(fd);
        close(fd);
        return NULL;
}

static void start(void *(*function)(void *), void *argument, pthread_t *ret) {
        pthread_attr_t attributes;

        pthread_attr_init(&attributes);
        pthread_attr_setstacksize(&attributes, 64 << 10);
        if (pthread_create(ret, &attributes, function, argument))
                die("pthread_create");
}

__attribute__((noreturn)) static void run_server(int number) {
        struct sockaddr_in at = loopback(number);
        int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1, seconds = 60;
        pthread_t thread;

        setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        setsockopt(listener, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        /* Accepted once they have said something, so a look at the first byte never waits. */
        setsockopt(listener, IPPROTO_TCP, TCP_DEFER_ACCEPT, &seconds, sizeof seconds);
        if (bind(listener, (struct sockaddr *)&at, sizeof at) < 0 || listen(listener, 2048) < 0)
                die("listen");
        for (;;) {
                int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
                char first;

                if (fd < 0)
                        die("accept");
                if (recv(fd, &first, 1, MSG_PEEK) == 1 && first == 0x16) {
                        start(serve, (void *)(intptr_t)fd, &thread);
                        pthread_detach(thread);
                } else {
                        serve_request(fd);
                        close(fd);
                }
        }
}

/* ---- the clients ----------------------------------------------------------------------------------------------------- */

static int connect_there(void) {
        struct sockaddr_in at = loopback(port);
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

        if (connect(fd, (struct sockaddr *)&at, sizeof at) < 0)
                die("connect");
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        return fd;
}

/* A tunnel up to the first byte from the server. */
static int open_tunnel(void) {
        char text[1024];
        int fd = connect_there(), n;

        if (through_proxy) {
                n = snprintf(text, sizeof text, "CONNECT 127.0.0.1:%d HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n", server_port, server_port);
                if (!write_whole(fd, text, (size_t)n) || !read_head(fd, text, sizeof text) || !strstr(text, " 200 "))
                        die("CONNECT");
        }
        if (!write_whole(fd, client_hello, sizeof client_hello) || !read_whole(fd, text, 1))
                die("hello");
        return fd;
}

static void rest_of_flight(int fd) {
        char text[sizeof server_flight];

        if (!read_whole(fd, text, sizeof server_flight - 1))
                die("hello");
}

static void ask(int fd, uint64_t wanted) {
        if (!write_whole(fd, &wanted, sizeof wanted))
                die("send");
}

static int run_bulk(uint64_t bytes) {
        static char buffer[CHUNK];
        int fd = open_tunnel();
        uint64_t got = 0;
        double started;

        rest_of_flight(fd);
        started = now();
        ask(fd, bytes);
        while (got < bytes) {
                ssize_t n = recv(fd, buffer, sizeof buffer, 0);

                if (n <= 0)
                        die("recv");
                got += (uint64_t)n;
        }
        printf("%.3f\n", (double)bytes / (now() - started) / 1e9);
        close(fd);
        return 0;
}

/* How long our processor takes to wake up is not the proxy's, so it stays awake. */
static int run_first(unsigned long times) {
        awake = true;
        for (unsigned long i = 0; i < times; i++) {
                double started = now();
                int fd = open_tunnel();

                printf("%.1f\n", (now() - started) * 1e6);
                close(fd);
        }
        return 0;
}

static double until;

static void *request_on(void *argument) {
        unsigned long *done = argument;
        char text[4096];

        while (now() < until) {
                int fd = connect_there(), n;
                size_t got = 0;

                n = snprintf(text, sizeof text,
                        through_proxy ? "GET http://127.0.0.1:%d/ HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nConnection: close\r\n\r\n"
                                      : "GET / HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nConnection: close\r\n\r\n",
                        server_port, server_port);
                if (!write_whole(fd, text, (size_t)n))
                        die("send");
                for (ssize_t r; (r = recv(fd, text + got, sizeof text - got - 1, 0)) > 0;)
                        got += (size_t)r;
                text[got] = '\0';
                if (!strstr(text, " 200 ") || !strstr(text, "abcde\n"))
                        die("answer");
                close(fd);
                ++*done;
        }
        return NULL;
}

static int run_short(unsigned long seconds) {
        unsigned long done[AT_ONCE] = { 0 }, all = 0;
        pthread_t threads[AT_ONCE];
        double started = now();

        until = started + (double)seconds;
        for (int i = 0; i < AT_ONCE; i++)
                start(request_on, &done[i], &threads[i]);
        for (int i = 0; i < AT_ONCE; i++) {
                pthread_join(threads[i], NULL);
                all += done[i];
        }
        printf("%.0f\n", (double)all / (now() - started));
        return 0;
}

static int run_idle(unsigned long n) {
        char end;

        for (unsigned long i = 0; i < n; i++)
                rest_of_flight(open_tunnel());
        printf("ready\n");
        fflush(stdout);
        return read(STDIN_FILENO, &end, 1) < 0;
}

static int run_late(double seconds) {
        static char buffer[CHUNK];
        double started = now(); /* before it is accepted: what is measured is not less than the truth */
        int fd = open_tunnel();

        rest_of_flight(fd);
        ask(fd, UINT64_MAX);
        while (recv(fd, buffer, sizeof buffer, 0) > 0)
                ;
        printf("%.2f\n", (now() - started - seconds) * 1e3);
        return 0;
}

int main(int argc, char **argv) {
        struct rlimit files;

        if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
                files.rlim_cur = files.rlim_max;
                setrlimit(RLIMIT_NOFILE, &files);
        }
        if (argc == 3 && strcmp(argv[1], "server") == 0)
                run_server(atoi(argv[2]));
        if (argc != 6)
                return fprintf(stderr, "usage: egress_load WHAT HOW PORT SERVER-PORT COUNT\n"), 2;
        through_proxy = strcmp(argv[2], "connect") == 0;
        port = atoi(argv[3]);
        server_port = atoi(argv[4]);
        if (strcmp(argv[1], "bulk") == 0)
                return run_bulk(strtoull(argv[5], NULL, 10));
        if (strcmp(argv[1], "first") == 0)
                return run_first(strtoul(argv[5], NULL, 10));
        if (strcmp(argv[1], "short") == 0)
                return run_short(strtoul(argv[5], NULL, 10));
        if (strcmp(argv[1], "idle") == 0)
                return run_idle(strtoul(argv[5], NULL, 10));
        if (strcmp(argv[1], "late") == 0)
                return run_late(strtod(argv[5], NULL));
        return 2;
}
