#define _GNU_SOURCE
#include "life/notify_receiver.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/process.h"
#include "base/str.h"

enum { STOP_WAIT_MS = 1000 };

/* Room for no control message: the kernel drops what would be one (unix(7)), in here. A datagram leaves the queue when it has been passed
 * on, so that an empty queue means that nothing is on its way. */
__attribute__((noreturn)) static void take_datagrams(int from, int to, pid_t parent) {
        char text[NOTIFY_DATAGRAM_MAX], passed;
        int keep[] = { from, to };

        if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent || fd_keep_only(0, keep, ELEMENTSOF(keep)) < 0)
                _exit(1);
        for (;;) {
                ssize_t n = recv(from, text, sizeof text, MSG_PEEK);

                if (n < 0 && errno != EINTR)
                        _exit(1);
                if (n > 0 && (send(to, text, (size_t)n, MSG_NOSIGNAL) != n || recv(to, &passed, 1, 0) != 1))
                        _exit(0);
                if (n >= 0)
                        (void)!recv(from, text, 1, MSG_DONTWAIT);
        }
}

int notify_receiver_start(int bound, int *ret_inside, int *ret_pidfd) {
        _cleanup_close_ int ours = -1, theirs = -1;
        const pid_t self = getpid();
        int ends[2], pidfd = -1;
        pid_t pid;

        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
                return -errno;
        ours = ends[0];
        theirs = ends[1];
        pid = process_clone(0, -1, &pidfd);
        if (pid < 0)
                return pid;
        if (pid == 0)
                take_datagrams(bound, theirs, self);
        *ret_inside = take_fd(&ours);
        *ret_pidfd = pidfd;
        return 0;
}

void notify_receiver_stop(int *pidfd) {
        int status;

        if (*pidfd >= 0) {
                process_signal(*pidfd, SIGKILL);
                if (process_wait_end(*pidfd, STOP_WAIT_MS) == 0)
                        process_reap(*pidfd, &status);
        }
        close_fd(pidfd);
}
