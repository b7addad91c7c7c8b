#define _GNU_SOURCE
#include "base/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"

/* "SigIgn:" of proc_pid_status(5), a mask in hexadecimal: one read instead of asking sixty-four times. */
static int read_ignored(uint64_t *ret) {
        _cleanup_close_ int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
        char text[4096];
        const char *at;
        ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);

        if (n < 0)
                return -errno;
        text[n] = '\0';
        at = strstr(text, "\nSigIgn:\t");
        if (!at)
                return -EPROTO;
        *ret = strtoull(at + strlen("\nSigIgn:\t"), NULL, 16);
        return 0;
}

/* The system call itself: the C library keeps signals 32 and 33 to itself and refuses them. */
static void set_default(int number) {
        const struct { void (*handler)(int); unsigned long flags; void (*restorer)(void); uint64_t mask; } action = { .handler = SIG_DFL };

        (void)syscall(SYS_rt_sigaction, number, &action, NULL, sizeof action.mask);
}

int signals_reset(void) {
        uint64_t ignored = 0;
        sigset_t none;
        int r = read_ignored(&ignored);

        if (r < 0)
                return r;
        for (int number = 1; number <= 64; number++)
                if (ignored >> (number - 1) & 1)
                        set_default(number);
        sigemptyset(&none);
        return sigprocmask(SIG_SETMASK, &none, NULL) < 0 ? -errno : 0;
}

bool signal_interrupts(int number) {
        static const int ending[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT };
        struct sigaction action;

        for (size_t i = 0; i < sizeof ending / sizeof *ending; i++)
                if (ending[i] == number)
                        return sigaction(number, NULL, &action) == 0 && action.sa_handler != SIG_IGN;
        return false;
}

/* FD: -1 makes one. */
static int collect(int fd, bool alarm, struct error *err) {
        sigset_t set;

        sigemptyset(&set);
        for (int number = SIGHUP; number <= SIGTERM; number++)
                if (signal_interrupts(number) || (alarm && number == SIGALRM))
                        sigaddset(&set, number);
        fd = signalfd(fd, &set, SFD_CLOEXEC | SFD_NONBLOCK);
        return fd < 0 ? fail_errno(err, CODE_INTERNAL, errno, "", "cannot make a signalfd") : fd;
}

int interruption_open(struct interruption *ret, struct error *err) {
        int fd = collect(-1, false, err);

        if (fd < 0)
                return fd;
        *ret = (struct interruption){ .fd = fd };
        return 0;
}

int interruption_add_alarm(struct interruption *i, struct error *err) {
        int fd = collect(i->fd, true, err);

        return fd < 0 ? fd : 0;
}

int interruption_take(struct interruption *i, struct error *err) {
        struct signalfd_siginfo info = { .ssi_signo = SIGTERM };

        (void)!read(i->fd, &info, sizeof info);
        i->signal = (int)info.ssi_signo;
        return fail(err, CODE_INTERRUPTED, EINTR, "", "interrupted by signal %d before the program ran", i->signal);
}

int interruption_wait(struct interruption *i, int fd, struct error *err) {
        struct pollfd fds[] = { { .fd = fd, .events = POLLIN }, { .fd = i ? i->fd : -1, .events = POLLIN } };
        int r;

        if (!i || i->fd < 0)
                return 0;
        do
                r = poll(fds, 2, -1);
        while (r < 0 && errno == EINTR);
        if (r < 0)
                return fail_errno(err, CODE_INTERNAL, errno, "", "cannot wait");
        return fds[0].revents ? 0 : interruption_take(i, err);
}

int interruption_check(struct interruption *i, struct error *err) {
        struct pollfd fd = { .fd = i ? i->fd : -1, .events = POLLIN };

        return fd.fd >= 0 && poll(&fd, 1, 0) > 0 ? interruption_take(i, err) : 0;
}
