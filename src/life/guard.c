#define _GNU_SOURCE
#include "life/guard.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "apply/cgroup.h"
#include "base/fd.h"
#include "base/process.h"

/* What the guard watches, and what it has been told to end. */
struct watch {
        int runtime, parent; /* pidfds; parent: -1 when it is gone, or cannot be named here */
        int socket;
        int command, cgroup;
};

/* The command as one message: its pidfd and, where there is one, its cgroup. */
union message {
        char room[CMSG_SPACE(2 * sizeof(int))];
        struct cmsghdr align;
};

static void hear(struct watch *w) {
        union message control;
        char byte;
        struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
        struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control };
        struct cmsghdr *c;
        ssize_t n = recvmsg(w->socket, &m, MSG_CMSG_CLOEXEC);

        c = n == 1 ? CMSG_FIRSTHDR(&m) : NULL;
        if (c && c->cmsg_type == SCM_RIGHTS) {
                memcpy(&w->command, CMSG_DATA(c), sizeof(int));
                if (c->cmsg_len >= CMSG_LEN(2 * sizeof(int)))
                        memcpy(&w->cgroup, CMSG_DATA(c) + sizeof(int), sizeof(int));
        }
        close_fd(&w->socket); /* told once */
}

static void end_command(const struct watch *w) {
        struct error ignored;

        if (w->command >= 0)
                (void)process_signal(w->command, SIGKILL);
        if (w->cgroup >= 0)
                (void)cgroup_kill(w->cgroup, &ignored);
}

/* In a session of its own: what kills the process group of the runtime does not reach it. It holds nothing but what it watches. */
__attribute__((noreturn)) static void guard_main(struct watch w) {
        int kept[] = { w.runtime, w.parent < 0 ? w.runtime : w.parent, w.socket };

        (void)setsid();
        (void)prctl(PR_SET_NAME, "sage-guard");
        if (fd_keep_only(0, kept, 3) < 0 || fd_reserve(0, 3) < 0)
                _exit(1);
        for (;;) {
                struct pollfd fds[] = {
                        { .fd = w.runtime, .events = POLLIN },
                        { .fd = w.parent, .events = POLLIN },
                        { .fd = w.socket, .events = POLLIN },
                };

                if (poll(fds, 3, -1) < 0 && errno != EINTR)
                        _exit(1);
                if (fds[2].revents)
                        hear(&w);
                if (fds[1].revents) {
                        close_fd(&w.parent);
                        (void)process_signal(w.runtime, SIGTERM);
                }
                if (fds[0].revents) {
                        end_command(&w);
                        _exit(0);
                }
        }
}

/* By a pidfd and not by PR_SET_PDEATHSIG, which comes when the thread ends that started us, though its process may live on. CALLER 0: it is
 * in another pid namespace, and only that is left. */
static int watch(pid_t caller, int *ret, struct error *err) {
        signal(SIGTERM, SIG_DFL); /* or what our caller wants ignored would not end us */
        if (caller == 0) {
                (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
                return 0;
        }
        *ret = (int)syscall(SYS_pidfd_open, caller, 0);
        if (*ret < 0 || getppid() != caller)
                return fail(err, CODE_INTERRUPTED, ESRCH, "--die-with-parent", "the process that started this one is gone");
        return 0;
}

int guard_begin(struct guard *ret, pid_t caller, struct error *err) {
        _cleanup_close_ int runtime = (int)syscall(SYS_pidfd_open, getpid(), 0), parent = -1, theirs = -1, ours = -1;
        int pair[2], r;
        pid_t pid;

        if (runtime < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "", "cannot watch this process");
        ours = pair[0], theirs = pair[1];
        if ((r = watch(caller, &parent, err)) < 0)
                return r;
        pid = process_clone(0, -1, &ret->pidfd);
        if (pid == 0)
                guard_main((struct watch){ .runtime = runtime, .parent = parent, .socket = theirs, .command = -1, .cgroup = -1 });
        if (pid < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, -pid, "", "cannot make the process that watches this one");
        ret->socket = take_fd(&ours);
        return 0;
}

int guard_tell_it(struct guard *guard, int command, int cgroup, struct error *err) {
        const int fds[] = { command, cgroup };
        size_t size = cgroup >= 0 ? sizeof fds : sizeof *fds;
        union message control = { .room = { 0 } };
        struct iovec iov = { .iov_base = (char[]){ 0 }, .iov_len = 1 };
        struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = CMSG_SPACE(size) };
        struct cmsghdr *c = CMSG_FIRSTHDR(&m);

        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(size);
        memcpy(CMSG_DATA(c), fds, size);
        if (sendmsg(guard->socket, &m, MSG_NOSIGNAL) != 1)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "--die-with-parent", "the process that watches this one is gone");
        close_fd(&guard->socket);
        return 0;
}

void guard_end(struct guard *guard) {
        int ignored;

        close_fd(&guard->socket);
        if (guard->pidfd < 0)
                return;
        (void)process_signal(guard->pidfd, SIGKILL);
        (void)process_reap(guard->pidfd, &ignored);
        close_fd(&guard->pidfd);
}
