#define _GNU_SOURCE
#include "life/wait.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "apply/terminal.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/process.h"

int foreground_begin(struct foreground *ret, struct error *err) {
        sigset_t all;

        sigfillset(&all);
        if (sigprocmask(SIG_SETMASK, &all, &ret->mask) < 0)
                return fail_errno(err, CODE_INTERNAL, errno, "", "cannot block signals");
        ret->signals = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
        return ret->signals < 0 ? fail_errno(err, CODE_INTERNAL, errno, "", "cannot make a signalfd") : interruption_open(&ret->interruption, err);
}

void foreground_end(struct foreground *foreground) {
        close_fd(&foreground->ended);
        if (foreground->signals < 0)
                return;
        close_fd(&foreground->signals);
        close_fd(&foreground->interruption.fd);
        sigprocmask(SIG_SETMASK, &foreground->mask, NULL);
}

/* SIGCHLD and SIGPIPE are about us; SIGURG would be, if we asked for it; SIGWINCH is the relay's when there is one. The job-control
 * signals stop what they are sent to, and the shell sent them to our whole group. */
void foreground_pass_signal(int pidfd, struct terminal_relay *relay, int signal) {
        if (signal == SIGWINCH && relay)
                terminal_relay_resize(relay);
        else if (signal != SIGCHLD && signal != SIGPIPE && signal != SIGURG)
                (void)process_signal(pidfd, signal);
}

static void pass_signals(struct foreground *foreground, int pidfd, struct terminal_relay *relay) {
        struct signalfd_siginfo info;

        while (read(foreground->signals, &info, sizeof info) == sizeof info)
                foreground_pass_signal(pidfd, relay, (int)info.ssi_signo);
}

static int wait_loop(struct foreground *foreground, int pidfd, struct terminal_relay *relay, struct notify *notify, struct error *err) {
        for (;;) {
                struct pollfd fds[4 + 3] = {
                        { .fd = pidfd, .events = POLLIN },
                        { .fd = foreground->signals, .events = POLLIN },
                        { .fd = notify ? notify->inside : -1, .events = POLLIN },
                        { .fd = foreground->ended, .events = POLLIN },
                };
                size_t n = 4 + (relay ? terminal_relay_pollfds(relay, fds + 4) : 0);
                int r;

                if (poll(fds, n, -1) < 0 && errno != EINTR)
                        return fail_errno(err, CODE_INTERNAL, errno, "", "cannot wait for the container");
                if (fds[1].revents)
                        pass_signals(foreground, pidfd, relay);
                if (fds[2].revents)
                        (void)notify_step(notify);
                if (relay && (r = terminal_relay_step(relay, fds + 4, err)) < 0)
                        return r;
                if (fds[3].revents && (r = process_wait_end(pidfd, FOREGROUND_DYING_MS)) < 0)
                        return fail_errno(err, CODE_LOST, -r, "", "the program has ended, and a process of it does not die; it may wait for a file system that does not answer");
                if (fds[0].revents || fds[3].revents) {
                        if (notify)
                                notify_finish(notify);
                        return 0;
                }
        }
}

int foreground_wait(struct foreground *foreground, int pidfd, int console, struct notify *notify, int *ret_status, struct error *err) {
        struct terminal_relay relay;
        int r;

        if (console >= 0 && (r = terminal_relay_start(&relay, console, err)) < 0)
                return r;
        r = wait_loop(foreground, pidfd, console >= 0 ? &relay : NULL, notify, err);
        if (console >= 0)
                terminal_relay_stop(&relay);
        if (r < 0)
                return r;
        r = process_reap(pidfd, ret_status);
        if (r == 0)
                log_debug("the program has ended with status %d", *ret_status);
        return r < 0 ? fail_errno(err, CODE_INTERNAL, -r, "", "cannot take the container's exit status") : 0;
}
