/* probe POLICY PROGRAMS UID[:GID] [lax | dialer | resolver | tls]: the two halves of the broker, with a front that does what it is told.
 *
 * It starts the dialer, locks itself down as the broker's front does, and then obeys lines on standard input: the front of a broker that
 * someone has taken over. Each line is answered by one on standard output.
 *
 *   connect HOST:PORT [http] [MS]   asks the dialer; "CODE ADDRESS N DETAIL", CODE "ok" when connected
 *   start TAG HOST:PORT MS          asks and does not wait
 *   wait                            the next answer: "TAG CODE …"
 *   cancel TAG
 *   talk TEXT                       to the socket that came last, until its end: what it said
 *   begin TEXT / more / all         writes without an end; reads once; reads to the end
 *   line                            writes a line feed
 *   raw TEXT                        sends TEXT to the dialer as it is
 *   fault heap|pointer|undefined    a mistake for sanitizers to find
 *   flood                           cancels what was never asked for, without end
 *   deaf                            hears no answer any more
 *   move N                          asks for nothing, and says that it runs on processor N
 *   try NAME                        one forbidden thing (probe_attacks.c); "NAME errno", unless the kernel ends us
 *
 * lax: without lock-down, so that it can be seen what it is that is denied. dialer, resolver, tls: no halves, but one process that gave up
 * what the dialer gives up, and then, as its helpers do, what these give up. */
#define _GNU_SOURCE
#include "base/fd.h"
#include "base/file.h"
#include "broker/dial.h"
#include "broker/helper_lockdown.h"
#include "broker/lockdown.h"
#include "tests/egress/probe_attacks.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static struct dialer dialer;
static int tunnel = -1, witness = -1, listener = -1;

static uint64_t now_ns(void) {
        struct timespec t;

        clock_gettime(CLOCK_MONOTONIC, &t);
        return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* ---- talking to the dialer --------------------------------------------------------------------------------------------- */

static void print_answer(const struct dialer_answer *answer) {
        printf("%s %s %u %s\n", answer->refusal ? refusal_row(answer->refusal)->code : "ok",
                answer->has_address ? address_print(&answer->address).text : "-", answer->n_addresses, answer->detail);
}

static bool next_answer(struct dialer_answer *ret) {
        struct pollfd p = { .fd = dialer.socket, .events = POLLIN };

        while (dialer_receive(&dialer, ret) < 0)
                if (poll(&p, 1, 20000) < 1 || p.revents & POLLHUP)
                        return false;
        if (ret->fd >= 0) {
                close_fd(&tunnel);
                close_fd(&witness);
                tunnel = ret->fd;
                witness = ret->witness;
        }
        return true;
}

static void ask(uint32_t tag, const char *text, enum policy_scheme scheme, unsigned ms, bool wait) {
        struct authority authority;
        struct dialer_answer answer;
        enum refusal refusal = authority_parse(text, strlen(text), 0, &authority);

        if (refusal) {
                printf("%s\n", refusal_row(refusal)->code);
                return;
        }
        if (dialer_connect(&dialer, tag, &authority, scheme, now_ns() + ms * 1000000ull) < 0)
                printf("full\n");
        else if (!wait)
                printf("asked\n");
        else if (next_answer(&answer))
                print_answer(&answer);
        else
                printf("gone\n");
}

static void wait_answer(void) {
        struct dialer_answer answer;

        if (!next_answer(&answer)) {
                printf("gone\n");
                return;
        }
        printf("%u ", answer.tag);
        print_answer(&answer);
}

static void say(const char *text, bool end) {
        if (send(tunnel, text, strlen(text), MSG_NOSIGNAL) < 0)
                return;
        if (end)
                shutdown(tunnel, SHUT_WR);
}

static void hear(bool all) {
        char data[65536];
        ssize_t n;

        do {
                struct pollfd p = { .fd = tunnel, .events = POLLIN };

                if (poll(&p, 1, 10000) < 1) {
                        printf("(nothing)");
                        break;
                }
                n = recv(tunnel, data, sizeof data, 0);
                if (n <= 0)
                        printf("%s", n == 0 ? "(end)" : "(reset)");
                else
                        printf("%.*s", (int)n, data);
        } while (all && n > 0);
        printf("\n");
}

/* Writes behind a block of memory, or to where there is none, or overflows an int: what a sanitizer ends a process for. */
static void commit_fault(const char *kind) {
        volatile int n = INT_MAX, size = 8;
        volatile char *block = streq(kind, "heap") ? malloc((size_t)size) : NULL;

        if (block)
                block[size] = 1;
        else if (streq(kind, "pointer"))
                *(volatile char *)(uintptr_t)size = 1;
        else
                n++;
        printf("nobody minded %d\n", n);
        free((void *)block);
}

static void obey(char *line) {
        char *space = strchr(line, ' '), *rest = space ? space + 1 : line + strlen(line), place[512];
        unsigned tag = 1, ms = 10000;

        if (space)
                *space = '\0';
        if (streq(line, "connect")) {
                char scheme[8] = "";

                sscanf(rest, "%511s %7s %u", place, scheme, &ms);
                ask(1, place, streq(scheme, "http") ? POLICY_HTTP : POLICY_HTTPS, ms, true);
        } else if (streq(line, "start")) {
                sscanf(rest, "%u %511s %u", &tag, place, &ms);
                ask(tag, place, POLICY_HTTPS, ms, false);
        } else if (streq(line, "wait")) {
                wait_answer();
        } else if (streq(line, "cancel")) {
                dialer_cancel(&dialer, (uint32_t)atoi(rest));
                printf("cancelled\n");
        } else if (streq(line, "talk")) {
                say(rest, true);
                hear(true);
        } else if (streq(line, "begin")) {
                say(rest, false);
                printf("begun\n");
        } else if (streq(line, "line")) {
                say("\n", false);
                printf("begun\n");
        } else if (streq(line, "more") || streq(line, "all")) {
                hear(streq(line, "all"));
        } else if (streq(line, "raw")) {
                printf("%zd\n", send(dialer.socket, rest, strlen(rest), MSG_NOSIGNAL));
        } else if (streq(line, "fault")) {
                commit_fault(rest);
        } else if (streq(line, "flood")) {
                fcntl(dialer.socket, F_SETFL, 0);
                for (;;)
                        send(dialer.socket, &(struct dialer_request){ .verb = DIALER_CANCEL, .tag = 1 }, sizeof(struct dialer_request), 0);
        } else if (streq(line, "move")) {
                const struct dialer_request request = { .verb = DIALER_CONNECT, .tag = 1, .processor = atoi(rest) };

                printf("%zd\n", send(dialer.socket, &request, sizeof request, MSG_NOSIGNAL));
                wait_answer();
        } else if (streq(line, "deaf")) {
                printf("%d\n", shutdown(dialer.socket, SHUT_RD));
        } else if (streq(line, "try")) {
                attack(rest, tunnel, listener);
        } else {
                printf("what?\n");
        }
}

/* ---- main -------------------------------------------------------------------------------------------------------------- */

static int open_listener(void) {
        const struct sockaddr_in any = { .sin_family = AF_INET, .sin_addr = { 0x0100007f } };
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

        return fd < 0 || bind(fd, (const struct sockaddr *)&any, sizeof any) < 0 || listen(fd, 1) < 0 ? -1 : fd;
}

/* As what PLACE gives up leaves it. */
static int be_elsewhere(const struct dialer_options *options, const char *place, struct error *err) {
        int r = lockdown_before_split(err);

        if (r == 0)
                r = lockdown_dialer(options, err);
        if (r == 0 && streq(place, "resolver"))
                r = lockdown_resolver(err);
        else if (r == 0 && streq(place, "tls"))
                r = lockdown_tls(err);
        return r;
}

static int begin(const char *path, const char *programs, const char *user, const char *place, struct error *err) {
        static struct arena arena;
        static struct policy policy;
        struct dialer_options options = { .policy = &policy, .programs = programs };
        _cleanup_str_ struct str text = { 0 };
        int r = file_read(AT_FDCWD, path, 1 << 20, &text);

        if (r < 0)
                return fail_errno(err, CODE_USAGE, -r, path, "cannot read");
        if (sscanf(user, "%u:%u", &options.uid, &options.gid) == 1)
                options.gid = options.uid;
        if ((r = policy_load(&arena, path, text.text, text.size, &policy, err)) < 0)
                return r;
        listener = open_listener();
        if (place && !streq(place, "lax"))
                return be_elsewhere(&options, place, err);
        if ((r = dialer_start(&options, &dialer, err)) < 0)
                return r;
        return place ? dialer_await(&dialer, err) : lockdown_front(&dialer, &listener, 1, err);
}

int main(int argc, char **argv) {
        struct error err = { 0 };
        char line[2048];

        if (argc < 4) {
                fprintf(stderr, "usage: probe POLICY PROGRAMS UID[:GID] [lax | dialer | resolver | tls]\n");
                return 2;
        }
        if (begin(argv[1], argv[2], argv[3], argc > 4 ? argv[4] : NULL, &err) < 0) {
                printf("failed %s %s: %s\n", error_code(err.code)->name, err.where, err.text);
                return 1;
        }
        setvbuf(stdout, NULL, _IOLBF, 0);
        printf("ready, missing: %s\n", lockdown_missing() ? lockdown_missing() : "nothing");
        while (fgets(line, sizeof line, stdin)) {
                line[strcspn(line, "\n")] = '\0';
                obey(line);
                fflush(stdout);
        }
        return 0;
}
