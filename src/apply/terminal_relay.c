#define _GNU_SOURCE
#include "apply/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

void terminal_take_size(int master) {
        struct winsize size;

        for (int fd = 0; fd <= 2; fd++)
                if (ioctl(fd, TIOCGWINSZ, &size) == 0) {
                        if (master >= 0 && (size.ws_col || size.ws_row))
                                ioctl(master, TIOCSWINSZ, &size);
                        return;
                }
}

void terminal_settle(int master) {
        struct termios line;

        terminal_take_size(master);
        if (isatty(STDOUT_FILENO) || tcgetattr(master, &line) < 0)
                return;
        line.c_oflag &= ~(tcflag_t)ONLCR;
        (void)tcsetattr(master, TCSANOW, &line);
}

void terminal_relay_resize(struct terminal_relay *r) {
        terminal_take_size(r->master);
}

int terminal_relay_start(struct terminal_relay *r, int master, struct error *err) {
        struct termios raw;
        int flags = fcntl(master, F_GETFL);

        *r = (struct terminal_relay)TERMINAL_RELAY_NONE;
        r->master = master;
        r->patience_ms = -1;
        r->last_typed = '\n';
        if (flags < 0 || fcntl(master, F_SETFL, flags | O_NONBLOCK) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "process.terminal", "cannot use the terminal's master");
        relay_end_open(&r->in, STDIN_FILENO, O_RDONLY);
        relay_end_open(&r->out, STDOUT_FILENO, O_WRONLY);
        terminal_relay_resize(r);

        if (tcgetattr(STDIN_FILENO, &r->saved) < 0)
                return 0; /* no terminal: a pipe, /dev/null, a file, or closed; there is nothing to be made raw */
        raw = r->saved;
        cfmakeraw(&raw);
        if (tcsetattr(STDIN_FILENO, TCSANOW, &raw) < 0) {
                int errnum = errno;

                r->master = -1;
                terminal_relay_stop(r);
                return fail_errno(err, CODE_LAUNCH_FAILED, errnum, "process.terminal", "cannot put this terminal into raw mode");
        }
        r->raw = true;
        return 0;
}

void terminal_show_rest(int master) {
        struct pollfd p = { .fd = master, .events = POLLIN };
        char text[4096];
        ssize_t n;

        while (poll(&p, 1, 0) > 0 && p.revents & POLLIN && (n = read(master, text, sizeof text)) > 0)
                if (write(STDERR_FILENO, text, (size_t)n) < 0)
                        return;
}

static struct pollfd interest(int fd, bool reads, bool writes) {
        return (struct pollfd){ .fd = reads || writes ? fd : -1, .events = (short)((reads ? POLLIN : 0) | (writes ? POLLOUT : 0)) };
}

/* A descriptor that we want nothing of is left out altogether: poll(2) reports a hang-up whether asked or not, and would spin while the
 * reader of our output is slow. */
size_t terminal_relay_pollfds(struct terminal_relay *r, struct pollfd fds[3]) {
        fds[0] = interest(r->master, relay_has_room(&r->shown), !relay_is_empty(&r->typed));
        fds[1] = interest(r->in.fd, r->master >= 0 && relay_is_empty(&r->typed), false);
        fds[2] = interest(r->out.fd, false, !relay_is_empty(&r->shown));
        return 3;
}

/* The end of a pipe or file as fd 0 is told to the payload as a terminal tells it: the VEOF character, twice where a line is unfinished
 * (termios(3)). A shell that edits lines switches off ICANON for its prompt and on again for its commands, takes VEOF for the end itself,
 * and each switch makes the terminal forget what it was told; so it is told again after each. */
static void send_eof(struct terminal_relay *r) {
        struct termios line;
        int n = r->last_typed == '\n' ? 1 : 2;

        if (r->raw || r->master < 0 || tcgetattr(r->master, &line) < 0 || line.c_cc[VEOF] == _POSIX_VDISABLE)
                return;
        if (r->ended && (line.c_lflag & ICANON) == r->ended_mode)
                return;
        if (r->ended || !(line.c_lflag & ICANON))
                n = 1;
        for (; n > 0 && relay_has_room(&r->typed); n--)
                r->typed.data[r->typed.end++] = (char)line.c_cc[VEOF];
        r->ended = true;
        r->ended_mode = line.c_lflag & ICANON;
}

static void read_input(struct terminal_relay *r) {
        int n = relay_fill(&r->typed, r->in.fd);

        if (!relay_is_empty(&r->typed))
                r->last_typed = r->typed.data[r->typed.end - 1];
        if (n > 0)
                return;
        relay_end_stop(&r->in);
        send_eof(r);
}

/* EIO is how a master says that every slave is closed and all output was read (pty(7), drivers/tty/n_tty.c). */
static int read_master(struct terminal_relay *r, struct error *err) {
        size_t from = r->shown.end;
        int n = relay_fill(&r->shown, r->master);

        if (n > 0 && r->budget)
                output_budget_charge(r->budget, &r->shown, from);
        if (n > 0)
                return 0;
        r->master = -1;
        return n == 0 || n == -EIO ? 0 : fail_errno(err, CODE_LAUNCH_FAILED, -n, "process.terminal", "cannot read from the terminal");
}

/* A reader that is gone (`… | head`) does not end the payload: its output goes nowhere from here on. */
static void write_output(struct terminal_relay *r) {
        if (r->out.fd < 0 || relay_drain(&r->shown, r->out.fd) < 0) {
                relay_end_stop(&r->out);
                r->shown.start = r->shown.end = 0;
        }
}

int terminal_relay_step(struct terminal_relay *r, const struct pollfd fds[3], struct error *err) {
        const short readable = POLLIN | POLLHUP | POLLERR | POLLNVAL;
        int result;

        if (r->in.fd >= 0 && fds[1].fd == r->in.fd && fds[1].revents & readable && relay_is_empty(&r->typed))
                read_input(r);
        if (r->master >= 0 && !relay_is_empty(&r->typed) && relay_drain(&r->typed, r->master) < 0)
                r->typed.start = r->typed.end = 0; /* nobody is there to read it; the next read tells */
        if (r->master >= 0 && fds[0].revents & readable && relay_has_room(&r->shown)) {
                result = read_master(r, err);
                if (result < 0)
                        return result;
                if (r->ended) /* what it printed may be the prompt of a shell that has just switched */
                        send_eof(r);
        }
        if (!relay_is_empty(&r->shown))
                write_output(r);
        return r->master < 0 && relay_is_empty(&r->shown);
}

/* The payload has ended; a slave may still be open in a process that it left behind, so the first moment without output is the end too.
 * poll(2) on a master first moves what is on its way to it (n_tty_poll), so nothing that was written before the payload's end is missed. */
static void flush(struct terminal_relay *r) {
        struct pollfd fds[3];
        struct error err;

        r->typed.start = r->typed.end = 0;
        for (;;) {
                int n;

                terminal_relay_pollfds(r, fds);
                fds[1].fd = -1;
                n = poll(fds, 3, relay_is_empty(&r->shown) ? 0 : r->patience_ms);
                if (n < 0 && errno == EINTR)
                        continue;
                if (n <= 0 || terminal_relay_step(r, fds, &err) != 0)
                        return;
        }
}

void terminal_relay_stop(struct terminal_relay *r) {
        if (r->master >= 0 || !relay_is_empty(&r->shown))
                flush(r);
        if (r->raw)
                tcsetattr(STDIN_FILENO, TCSANOW, &r->saved);
        r->raw = false;
        r->master = -1;
        r->shown.start = r->shown.end = 0;
        relay_end_close(&r->in, STDIN_FILENO);
        relay_end_close(&r->out, STDOUT_FILENO);
}
