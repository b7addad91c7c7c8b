#define _GNU_SOURCE
#include "broker/helper_lockdown.h"

#include "base/str.h"
#include "broker/calls.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

/* What a dynamic program's libc does in passing. Nothing in here makes a process, names another one, or opens a file for writing. */
/* clang-format off */
#define LIBRARY_CALLS \
        CALL(read), CALL(write), CALL(readv), CALL(writev), CALL(pread64), CALL(close), CALL(fstat), CALL(newfstatat), CALL(statx), \
        CALL(lseek), CALL(fcntl), CALL(faccessat), CALL(readlinkat), CALL(getdents64), CALL(getcwd), \
        CALL_IF(openat, 2, O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND, O_RDONLY), \
        CALL(brk), CALL(munmap), CALL(mremap), CALL(madvise), CALL(futex), CALL(sched_yield), CALL(sched_getaffinity), CALL(rseq), \
        CALL(set_robust_list), CALL(rt_sigaction), CALL(rt_sigprocmask), CALL(rt_sigreturn), CALL(sigaltstack), CALL(restart_syscall), \
        CALL(clock_gettime), CALL(clock_nanosleep), CALL(gettimeofday), CALL(getrandom), CALL(uname), \
        CALL(getpid), CALL(gettid), CALL(getuid), CALL(geteuid), CALL(getgid), CALL(getegid), CALL_IF(prlimit64, 0, ~0u, 0), \
        CALL(ppoll), CALL(recvfrom), CALL(recvmsg), CALL(sendto), CALL(sendmsg), CALL(shutdown), CALL(getsockname), \
        CALL(getpeername), CALL(getsockopt), CALL(setsockopt), CALL(exit), CALL(exit_group)

/* aarch64 never had the older forms of these. */
#if defined(__x86_64__)
#define OLDER_LIBRARY_CALLS \
        CALL(stat), CALL(lstat), CALL(access), CALL(readlink), CALL(poll), CALL(time), CALL(arch_prctl), \
        CALL_IF(open, 1, O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND, O_RDONLY),
#else
#define OLDER_LIBRARY_CALLS
#endif

/* DNS, and what NSS modules ask local services by: nscd, systemd-resolved, sssd, mdns. */
static const struct call resolver_calls[] = {
        LIBRARY_CALLS,
        OLDER_LIBRARY_CALLS
        CALL_IF(socket, 0, ~0u, AF_INET),
        CALL_IF(socket, 0, ~0u, AF_INET6),
        CALL_IF(socket, 0, ~0u, AF_UNIX),
        CALL_IF(socket, 0, ~0u, AF_NETLINK),
        CALL(socketpair),
        CALL(connect),
        CALL(bind), /* of the netlink socket */
        CALL(sendmmsg),
        CALL(recvmmsg),
        CALL_IF(ioctl, 1, ~0u, FIONREAD),
        CALL(mmap), /* modules of NSS are loaded when a name is first looked up */
        CALL(mprotect),
        CALL(epoll_create1),
        CALL(epoll_ctl),
        CALL(epoll_pwait),
        CALL(eventfd2),
        CALL(timerfd_create),
        CALL(timerfd_settime),
        CALL(pipe2),
        CALL(flock),
#if defined(__x86_64__)
        CALL(epoll_wait),
#endif
};

/* The sockets come to it; it makes none. OpenSSL is all there by now, so no memory becomes code any more. */
static const struct call tls_calls[] = {
        LIBRARY_CALLS,
        OLDER_LIBRARY_CALLS
        CALL_IF(mmap, 2, PROT_EXEC, 0),
        CALL_IF(mprotect, 2, PROT_EXEC, 0),
};
/* clang-format on */

static int lockdown(const struct call *calls, size_t n, struct error *err) {
        const struct rlimit none = { 0, 0 };

        calls_prepare_reports();
        /* Whoever shares the uid could look into a process that is dumpable (ptrace(2)), and a core file would hold what it read. A sanitizer's
         * report may go to a file. */
        if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || setrlimit(RLIMIT_CORE, &none) < 0 ||
                (!CALLS_SANITIZED && setrlimit(RLIMIT_FSIZE, &none) < 0))
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "limits", "cannot give up core dumps and files");
        return calls_allow_only(calls, n, SECCOMP_RET_ERRNO | EPERM, err);
}

int lockdown_resolver(struct error *err) {
        return lockdown(resolver_calls, ELEMENTSOF(resolver_calls), err);
}

int lockdown_tls(struct error *err) {
        return lockdown(tls_calls, ELEMENTSOF(tls_calls), err);
}
