#define _GNU_SOURCE
#include "broker/dialer.h"

#include "base/fd.h"
#include "base/process.h"
#include "broker/calls.h"
#include "broker/dialer_loop.h"
#include "broker/lockdown.h"
#include "broker/passing.h"
#include "broker/route.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- the front's side ------------------------------------------------------------------------------------------------ */

static int send_request(const struct dialer *dialer, const struct dialer_request *request) {
        if (send(dialer->socket, request, sizeof *request, MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof *request)
                return 0;
        return errno == EAGAIN || errno == ENOBUFS || errno == EINTR ? -EAGAIN : -EPIPE;
}

int dialer_connect(
        const struct dialer *dialer, uint32_t tag, const struct authority *authority, enum policy_scheme scheme, uint64_t deadline_ns) {
        const struct dialer_request request = {
                .verb = DIALER_CONNECT,
                .tag = tag,
                .deadline_ns = deadline_ns,
                .scheme = scheme,
                .processor = sched_getcpu(),
                .authority = authority_print(authority, 0),
        };

        return send_request(dialer, &request);
}

void dialer_cancel(const struct dialer *dialer, uint32_t tag) {
        send_request(dialer, &(struct dialer_request){ .verb = DIALER_CANCEL, .tag = tag });
}

int dialer_receive(const struct dialer *dialer, struct dialer_answer *ret) {
        struct dialer_answer answer;
        int fds[2] = { -1, -1 };
        ssize_t n = passing_receive(dialer->socket, &answer, sizeof answer, fds, dialer->witnessed ? 2 : 1, MSG_DONTWAIT);

        if (n == -EAGAIN || n == -EINTR)
                return -EAGAIN;
        if (n != sizeof answer)
                return -EPIPE;
        answer.fd = fds[0];
        answer.witness = fds[1];
        /* We could not take them: RLIMIT_NOFILE. */
        if (!answer.refusal && answer.fd < 0)
                answer.refusal = REFUSAL_DIALER_BUSY;
        *ret = answer;
        return 0;
}

void dialer_drop(struct dialer_answer *answer) {
        close_fd(&answer->fd);
        close_fd(&answer->witness);
}

/* ---- the split ------------------------------------------------------------------------------------------------------- */

/* Descriptors 0 to 2 are taken, so that none of ours ever stands where another program looks for its standard streams. */
static int fill_standard_streams(struct error *err) {
        int fd;

        do
                fd = open("/dev/null", O_RDWR | O_CLOEXEC);
        while (fd >= 0 && fd <= 2);
        if (fd < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "/dev/null", "cannot open");
        close(fd);
        return 0;
}

static int block_signals(sigset_t *ret_before, int *ret_signals, struct error *err) {
        sigset_t set;

        sigemptyset(&set);
        sigaddset(&set, SIGTERM);
        sigaddset(&set, SIGINT);
        sigaddset(&set, SIGHUP);
        if (sigprocmask(SIG_BLOCK, &set, ret_before) < 0 || (*ret_signals = signalfd(-1, &set, SFD_CLOEXEC)) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, NULL, "cannot wait for signals");
        return 0;
}

/* clone3(2) with CLONE_CLEAR_SIGHAND takes a sanitizer's handlers away, too, which report what a process dies of. */
static void keep_reporting(bool again) {
        static const int deadly[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL };
        static struct sigaction handlers[ELEMENTSOF(deadly)];

        for (size_t i = 0; CALLS_SANITIZED && i < ELEMENTSOF(deadly); i++)
                sigaction(deadly[i], again ? &handlers[i] : NULL, again ? NULL : &handlers[i]);
}

/* With namespaces of its own, with a user namespace where that is needed for them, or without (engines' default filters answer clone3(2) with
 * ENOSYS and clone(2) of namespaces with EPERM). */
static pid_t clone_front(uint64_t *ret_namespaces, int *ret_pidfd) {
        static const uint64_t tries[] = {
                CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC,
                CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC,
        };

        for (size_t i = 0; i < ELEMENTSOF(tries); i++) {
                pid_t pid = process_clone(tries[i], -1, ret_pidfd);

                if (pid < 0)
                        continue;
                *ret_namespaces = tries[i];
                return pid;
        }
        *ret_namespaces = 0;
        return helper_fork(ret_pidfd);
}

int dialer_await(const struct dialer *dialer, struct error *err) {
        struct error said;
        ssize_t n;

        do
                n = recv(dialer->socket, &said, sizeof said, 0);
        while (n < 0 && errno == EINTR);
        if (n != sizeof said)
                return fail(err, CODE_LAUNCH_FAILED, 0, "dialer", "the broker's other half ended while it started");
        if (said.code) {
                *err = said;
                return -(said.errnum ? said.errnum : EINVAL);
        }
        if (fcntl(dialer->socket, F_SETFL, O_NONBLOCK) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "dialer", "cannot use its socket");
        return 0;
}

static int prepare_loop(struct dialer_process *p, const struct dialer_options *options, struct error *err) {
        struct helpers *helpers = &p->dialing.helpers;
        int keep[] = { p->socket, p->front, p->signals, p->dialing.route, p->dialing.epoll, helpers->null,
                helpers->programs[HELPER_RESOLVER], helpers->programs[HELPER_TLS] };

        p->dialing.epoll = keep[4] = epoll_create1(EPOLL_CLOEXEC);
        helpers->epoll = p->dialing.epoll;
        for (int i = 0; i <= (CALLS_SANITIZED ? STDOUT_FILENO : STDERR_FILENO); i++)
                if (p->dialing.epoll < 0 || dup2(helpers->null, i) < 0)
                        return fail_errno(err, CODE_LAUNCH_FAILED, errno, "dialer", "cannot prepare its descriptors");
        if (fd_keep_only(3, keep, ELEMENTSOF(keep)) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "dialer", "cannot close what is not its own");
        return lockdown_dialer(options, err);
}

__attribute__((noreturn)) static void be_dialer(struct dialer_process *p, const struct dialer_options *options) {
        struct error err = { 0 };

        prctl(PR_SET_NAME, "egress-dialer");
        if (prepare_loop(p, options, &err) < 0 || send(p->socket, &err, sizeof err, MSG_NOSIGNAL) != sizeof err) {
                int status = 1;

                /* The front ends by itself once it has read this; its status is what our parent shall see. */
                send(p->socket, &err, sizeof err, MSG_NOSIGNAL);
                shutdown(p->socket, SHUT_RDWR);
                process_reap(p->front, &status);
                _exit(status ? status : 1);
        }
        dialer_loop(p);
}

/* Static: of what is long and seldom needed, only the pages that are touched are ever made. */
static struct dialer_process process;

static int open_all(struct dialer_process *p, const struct dialer_options *options, struct error *err) {
        const struct policy *policy = options->policy;
        int r = helpers_open(&p->dialing.helpers, options->programs ? options->programs : PKGLIBEXECDIR, policy->proxy_tls, err);

        if (r < 0)
                return r;
        if ((r = route_open(&p->dialing.route)) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, -r, "netlink", "cannot ask the routing table which addresses are this host's");
        p->dialing.policy = policy;
        p->dialing.helpers.max_tls = policy->max_connections < HELPERS_TLS_MAX ? policy->max_connections : HELPERS_TLS_MAX;
        if (policy->mode == SAGE_NETWORK_MODE_PROXY && policy->proxy.kind == HOST_ADDRESS) {
                p->dialing.upstream.list[0] = policy->proxy.address;
                p->dialing.upstream.n = 1;
        }
        return 0;
}

static void close_all(struct dialer_process *p) {
        close_fd(&p->dialing.helpers.programs[HELPER_RESOLVER]);
        close_fd(&p->dialing.helpers.programs[HELPER_TLS]);
        close_fd(&p->dialing.helpers.null);
        close_fd(&p->dialing.route);
        close_fd(&p->signals);
        close_fd(&p->socket);
}

static int split(struct dialer_process *p, const struct dialer_options *options, struct dialer *ret, struct error *err) {
        _cleanup_close_ int theirs = -1;
        uint64_t namespaces = 0;
        sigset_t before;
        int pair[2], r;
        pid_t pid;

        if ((r = fill_standard_streams(err)) < 0 || (r = open_all(p, options, err)) < 0 || (r = lockdown_before_split(err)) < 0)
                return r;
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "dialer", "cannot make its socket");
        p->socket = pair[0];
        theirs = pair[1];
        if ((r = block_signals(&before, &p->signals, err)) < 0)
                return r;
        keep_reporting(false);
        pid = clone_front(&namespaces, &p->front);
        if (pid > 0) {
                close_fd(&theirs);
                be_dialer(p, options);
        }
        keep_reporting(true);
        sigprocmask(SIG_SETMASK, &before, NULL);
        if (pid < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, -pid, "dialer", "cannot make a second process");
        close_fd(&p->socket);
        *ret = (struct dialer){ .socket = take_fd(&theirs), .namespaces = namespaces, .uid = options->uid, .gid = options->gid };
        ret->witnessed = options->policy->proxy_tls;
        return 0;
}

int dialer_start(const struct dialer_options *options, struct dialer *ret, struct error *err) {
        struct dialer_process *p = &process;
        int r;

        if (options->policy->mode != SAGE_NETWORK_MODE_ALLOWLIST && options->policy->mode != SAGE_NETWORK_MODE_PROXY)
                return fail(err, CODE_NETWORK_POLICY_INVALID, 0, "mode", "expected allowlist or proxy: other modes need no broker");
        if (geteuid() == 0 && (options->uid == 0 || options->gid == 0))
                return fail(err, CODE_IDENTITY_INVALID, 0, "user", "the broker does not run as root: name a user of its own");
        p->socket = p->signals = p->dialing.route = p->dialing.epoll = p->dialing.helpers.null = -1;
        p->dialing.helpers.programs[HELPER_RESOLVER] = p->dialing.helpers.programs[HELPER_TLS] = -1;
        r = split(p, options, ret, err);
        close_all(p);
        return r;
}
