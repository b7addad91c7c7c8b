#define _GNU_SOURCE
#include "life/init.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"

int init_collect_signals(int *ret_signals, struct error *err) {
        sigset_t all;
        int fd;

        sigfillset(&all);
        if (sigprocmask(SIG_SETMASK, &all, NULL) < 0 || (fd = signalfd(-1, &all, SFD_CLOEXEC)) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "", "cannot collect the signals of an init");
        *ret_signals = fd;
        return 0;
}

/* Takes what has ended. Orphans come to process 1 of their PID namespace (pid_namespaces(7)), and would stay zombies, which count for
 * pids.max. */
static void reap(pid_t main, int ended) {
        pid_t pid;
        int status;

        while ((pid = waitpid(-1, &status, WNOHANG | __WALL)) > 0)
                if (pid == main) {
                        (void)!write(ended, &status, sizeof status);
                        _exit(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
                }
}

/* kill(2) and pidfd_send_signal(2) from a PID namespace that ours does not show: the kernel puts 0 in place of the sender, and lets nobody
 * pass off a signal of another kind as SI_USER (kernel/signal.c, do_rt_sigqueueinfo()). A payload can send any signal to its process 1; of
 * those none is heeded. */
static bool is_from_outside(const struct signalfd_siginfo *info) {
        return info->ssi_code == SI_USER && info->ssi_pid == 0;
}

/* What ends a program that does not say otherwise, as far as people send it for that. */
static bool is_ending(int signal) {
        return signal == SIGTERM || signal == SIGINT || signal == SIGHUP || signal == SIGQUIT;
}

/* All of it together (execve(2), "Limits on size of arguments and environment"). */
#define ARGUMENTS_MAX (6u << 20)

/* /proc/PID/cmdline is for everybody to read, and who runs beside us would learn from it what the runtime was called with: paths of the host,
 * options. The arguments and the environment are one piece of memory, in this order (linux/fs/binfmt_elf.c, create_elf_tables()). */
static void hide_arguments(void) {
        static const char name[] = "sage-init";
        char *start = program_invocation_name, *end = start + strlen(start) + 1;

        /* A variable that was set later is somewhere else. */
        for (char **variable = environ; variable && *variable; variable++)
                if ((uintptr_t)*variable - (uintptr_t)end < ARGUMENTS_MAX)
                        end = *variable + strlen(*variable) + 1;
        memset(start, 0, (size_t)(end - start));
        if ((size_t)(end - start) > sizeof name)
                memcpy(start, name, sizeof name);
        (void)prctl(PR_SET_NAME, name, 0, 0, 0);
}

/* Until there is a signal. */
static void await_signal(int signals, int watched) {
        struct pollfd fds[] = { { .fd = signals, .events = POLLIN }, { .fd = watched } };

        while (watched >= 0 && !fds[0].revents) {
                if (poll(fds, 2, -1) < 0 && errno != EINTR)
                        _exit(255);
                if (fds[1].revents)
                        _exit(128 + SIGKILL);
        }
}

void init_serve(int signals, pid_t main, int ended, int watched) {
        struct signalfd_siginfo info;
        int kept[] = { signals, ended, watched };

        hide_arguments();
        if (fd_keep_only(0, kept, 3) < 0)
                _exit(255);
        for (;;) {
                ssize_t n;

                reap(main, ended); /* before the first signal, too: what ended while they were not collected yet sent none */
                await_signal(signals, watched);
                n = read(signals, &info, sizeof info);
                if (n < 0 && errno != EINTR)
                        _exit(255);
                if (n != sizeof info || info.ssi_signo == SIGCHLD || !is_from_outside(&info))
                        continue;
                if (main > 0)
                        (void)kill(main, (int)info.ssi_signo);
                else if (is_ending((int)info.ssi_signo))
                        _exit(128 + (int)info.ssi_signo);
        }
}
