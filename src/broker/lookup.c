#define _GNU_SOURCE
#include "broker/lookup.h"

#include "base/fd.h"
#include "base/process.h"
#include "broker/helper_process.h"

#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>

#define NOBODY 65534

/* What name servers send is read by somebody who is not root. */
__attribute__((noreturn)) static void be_resolver(const struct helpers *helpers, int socket, pid_t parent) {
        if (chdir("/") < 0 ||
                (geteuid() == 0 &&
                        (setgroups(0, NULL) < 0 || setresgid(NOBODY, NOBODY, NOBODY) < 0 || setresuid(NOBODY, NOBODY, NOBODY) < 0)))
                _exit(126);
        helper_become(helpers->programs[HELPER_RESOLVER], helpers->null, socket, parent);
}

static enum refusal ask(int socket, const char *name, int timeout_ms, struct addresses *ret) {
        struct pollfd p = { .fd = socket, .events = POLLIN };
        struct lookup_question question = { 0 };
        struct lookup_answer answer;

        snprintf(question.name, sizeof question.name, "%s", name);
        if (send(socket, &question, sizeof question, MSG_NOSIGNAL) != sizeof question)
                return REFUSAL_DIALER_HELPER;
        if (poll(&p, 1, timeout_ms) == 0)
                return REFUSAL_DNS_TIMEOUT;
        if (recv(socket, &answer, sizeof answer, MSG_DONTWAIT) != sizeof answer)
                return REFUSAL_DIALER_HELPER;
        return helper_addresses(&answer, ret);
}

static void close_helpers(struct helpers *helpers) {
        close_fd(&helpers->programs[HELPER_RESOLVER]);
        close_fd(&helpers->null);
}

int lookup(const char *directory, const char *name, int timeout_ms, struct addresses *ret, enum refusal *ret_refusal, struct error *err) {
        static struct helpers helpers;
        _cleanup_close_ int ours = -1, theirs = -1, pidfd = -1;
        pid_t parent = getpid(), pid;
        int pair[2], r, status;

        if ((r = helpers_open(&helpers, directory, false, err)) < 0)
                return r;
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
                close_helpers(&helpers);
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, NULL, "cannot make a socket");
        }
        ours = pair[0];
        theirs = pair[1];
        pid = helper_fork(&pidfd);
        if (pid == 0)
                be_resolver(&helpers, theirs, parent);
        close_helpers(&helpers);
        if (pid < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, -pid, helper_name(HELPER_RESOLVER), "cannot start this program");
        close_fd(&theirs);
        *ret_refusal = ask(ours, name, timeout_ms, ret);
        process_signal(pidfd, SIGKILL);
        process_reap(pidfd, &status);
        return 0;
}
