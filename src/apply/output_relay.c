#define _GNU_SOURCE
#include "apply/output_relay.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

static bool is_one_file(int a, int b) {
        struct stat x, y;

        return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static int open_pipe(struct output_stream *s, int first_fd) {
        _cleanup_close_ int reader = -1, writer = -1;
        int fds[2];

        if (pipe2(fds, O_CLOEXEC) < 0)
                return -errno;
        reader = fds[0], writer = fds[1];
        s->source = fcntl(reader, F_DUPFD_CLOEXEC, first_fd);
        s->given = fcntl(writer, F_DUPFD_CLOEXEC, first_fd);
        /* Only our side does not block: the command finds a pipe as any other. */
        return s->source < 0 || s->given < 0 || fcntl(s->source, F_SETFL, O_NONBLOCK) < 0 ? -errno : 0;
}

int output_relay_open(struct output_relay *r, uint64_t limit, int first_fd, struct error *err) {
        int result = 0;

        r->budget = (struct output_budget){ .left = limit };
        r->merged = is_one_file(STDOUT_FILENO, STDERR_FILENO);
        for (int i = 0; i < OUTPUT_STREAMS; i++) {
                struct output_stream *s = &r->streams[i];

                s->source = s->given = s->rest = -1;
                s->target = (struct relay_end)RELAY_END_NONE;
                s->buffer.start = s->buffer.end = 0;
                s->standard = i == 0 ? STDOUT_FILENO : STDERR_FILENO;
                if (i > 0 && (r->merged || result < 0))
                        continue;
                result = open_pipe(s, first_fd);
                if (result == 0)
                        relay_end_open(&s->target, s->standard, O_WRONLY);
        }
        if (result == 0)
                return 0;
        output_relay_close(r);
        return fail_errno(err, CODE_LAUNCH_FAILED, -result, "", "cannot make a pipe for the command's output");
}

int output_relay_take_it(const struct output_relay *r, struct error *err) {
        for (int i = 0; i < OUTPUT_STREAMS; i++)
                if (dup2(r->streams[r->merged ? 0 : i].given, r->streams[i].standard) < 0)
                        return fail_errno(err, CODE_LAUNCH_FAILED, errno, "", "cannot hand the command its output");
        return 0;
}

void output_relay_given(struct output_relay *r) {
        for (int i = 0; i < OUTPUT_STREAMS; i++)
                close_fd(&r->streams[i].given);
}

void output_relay_pollfds(const struct output_relay *r, struct pollfd fds[OUTPUT_POLLFDS]) {
        for (int i = 0; i < OUTPUT_STREAMS; i++) {
                const struct output_stream *s = &r->streams[i];

                fds[2 * i] = (struct pollfd){ .fd = relay_has_room(&s->buffer) ? s->source : -1, .events = POLLIN };
                fds[2 * i + 1] = (struct pollfd){ .fd = relay_is_empty(&s->buffer) ? -1 : s->target.fd, .events = POLLOUT };
        }
}

static void take(struct output_relay *r, struct output_stream *s) {
        size_t from = s->buffer.end, came;
        int more = relay_fill(&s->buffer, s->source);

        came = s->buffer.end - from;
        output_budget_charge(&r->budget, &s->buffer, from);
        if (s->rest >= 0)
                s->rest -= came < (size_t)s->rest ? (int)came : s->rest;
        if (more <= 0 || s->rest == 0)
                close_fd(&s->source);
}

/* A reader that is gone (`… | head`) is gone for the command as well: it gets SIGPIPE, as it would without us between. */
static void pass_on(struct output_stream *s) {
        if (s->target.fd >= 0 && relay_drain(&s->buffer, s->target.fd) >= 0)
                return;
        relay_end_stop(&s->target);
        close_fd(&s->source);
        s->buffer.start = s->buffer.end = 0;
}

void output_relay_step(struct output_relay *r, const struct pollfd fds[OUTPUT_POLLFDS]) {
        for (int i = 0; i < OUTPUT_STREAMS; i++) {
                struct output_stream *s = &r->streams[i];

                if (s->source >= 0 && fds[2 * i].fd == s->source && fds[2 * i].revents)
                        take(r, s);
                if (!relay_is_empty(&s->buffer))
                        pass_on(s);
        }
}

void output_relay_end(struct output_relay *r) {
        for (int i = 0; i < OUTPUT_STREAMS; i++) {
                struct output_stream *s = &r->streams[i];

                if (s->source < 0 || s->rest >= 0)
                        continue;
                if (ioctl(s->source, FIONREAD, &s->rest) < 0 || s->rest <= 0) /* pipe(7) */
                        close_fd(&s->source);
        }
}

bool output_relay_done(const struct output_relay *r) {
        for (int i = 0; i < OUTPUT_STREAMS; i++)
                if (r->streams[i].source >= 0 || !relay_is_empty(&r->streams[i].buffer))
                        return false;
        return true;
}

void output_relay_close(struct output_relay *r) {
        output_relay_given(r);
        for (int i = 0; i < OUTPUT_STREAMS; i++) {
                close_fd(&r->streams[i].source);
                relay_end_close(&r->streams[i].target, r->streams[i].standard);
        }
}
