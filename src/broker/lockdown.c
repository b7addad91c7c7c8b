#define _GNU_SOURCE
#include "broker/lockdown.h"

#include "base/fd.h"
#include "broker/calls.h"
#include "broker/helper_process.h"
#include "broker/landlock.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/mount.h>
#include <linux/seccomp.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* In a report of its death a sanitizer asks for things that it can do without. */
#define FRONT_OTHERWISE (CALLS_SANITIZED ? SECCOMP_RET_ERRNO | EPERM : SECCOMP_RET_KILL_PROCESS)

static char missing[96];

const char *lockdown_missing(void) {
        return missing[0] ? missing : NULL;
}

static void say_missing(const char *what) {
        size_t n = strlen(missing);

        snprintf(missing + n, sizeof missing - n, "%s%s", n ? ", " : "", what);
}

/* ---- the tables ------------------------------------------------------------------------------------------------------ */

/* Memory, clocks, descriptors it holds: what every process of ours needs. */
/* clang-format off */
#define OWN_CALLS \
        CALL(read), CALL(write), CALL(readv), CALL(writev), CALL(close), CALL(recvfrom), CALL(recvmsg), CALL(getsockopt), CALL(shutdown), \
        CALL(epoll_ctl), CALL(epoll_pwait), CALL(epoll_pwait2), CALL(ppoll), CALL(brk), CALL(munmap), CALL(mremap), CALL(madvise), \
        CALL_IF(mmap, 2, PROT_EXEC, 0), CALL_IF(mprotect, 2, PROT_EXEC, 0), CALL(futex), CALL(clock_gettime), CALL(gettimeofday), \
        CALL(getrandom), CALL(getpid), CALL(gettid), CALL(rt_sigreturn), CALL(rt_sigprocmask), CALL(restart_syscall), CALL(exit), \
        CALL(exit_group)

#if defined(__x86_64__)
#define OLDER_OWN_CALLS CALL(epoll_wait), CALL(poll), CALL(time),
#else
#define OLDER_OWN_CALLS
#endif

/* What the front does with the sockets and files that it holds, and nothing that it does not do. What makes a descriptor makes one that
 * leads nowhere (epoll, pipe2), or one of a client who came to us (accept4). */
static const struct call front_calls[] = {
        OWN_CALLS,
        OLDER_OWN_CALLS
        /* tcp(7), MSG_FASTOPEN: sending with it connects, and a listener becomes an unconnected socket by shutdown(2). */
        CALL_IF(sendto, 3, MSG_FASTOPEN, 0),
        CALL_IF(sendmsg, 2, MSG_FASTOPEN, 0),
        CALL(accept4),
        CALL(sched_yield),
        CALL(epoll_create1),
        CALL(getsockname),
        CALL(getcpu), /* where the C library does not know by itself (rseq(2)) */
        CALL_IF_BOTH(setsockopt, 1, SOL_SOCKET, 2, SO_LINGER),
        CALL_IF_BOTH(setsockopt, 1, IPPROTO_TCP, 2, TCP_NODELAY),
        CALL_IF(ioctl, 1, ~0u, SIOCOUTQ),
        CALL_IF(fcntl, 1, ~0u, F_GETFL),
        CALL_IF(fcntl, 1, ~0u, F_SETFL),
        CALL_IF(fcntl, 1, ~0u, F_GETFD),
        CALL_IF(fcntl, 1, ~0u, F_SETPIPE_SZ), /* of pipes of its own, which lead nowhere either */
        CALL(pipe2),
        CALL(splice),
        CALL(ftruncate),
        CALL(lseek),
        CALL(pread64),
        CALL(fstat),
        CALL_IF(newfstatat, 3, ~0u, AT_EMPTY_PATH), /* how newer C libraries do fstat(3); what a path would name is an empty root */
};

/* The dialer reads the front's requests, and nothing else that a stranger wrote. Its helpers inherit the filter (and load their own in
 * addition), so it holds what a dynamic program needs to start and to look names up. It gives no one: other processes (kill, ptrace,
 * process_vm_*, pidfd_open), listening, mounts, namespaces, keys, BPF, perf, io_uring; files are Landlock's matter. */
static const struct call dialer_calls[] = {
        OWN_CALLS,
        OLDER_OWN_CALLS
        CALL_IF(clone, 0, ~0u, CLONE_PIDFD | SIGCHLD), /* helper_fork() */
        CALL(execveat),
        CALL(waitid),
        CALL(pidfd_send_signal),
        CALL_IF(sched_setaffinity, 0, ~0u, 0), /* our own */
        CALL_IF(prctl, 0, ~0u, PR_SET_PDEATHSIG),
        CALL_IF(prctl, 0, ~0u, PR_SET_NAME),
        CALL_IF(prctl, 0, ~0u, PR_SET_NO_NEW_PRIVS),
        CALL_IF(prctl, 0, ~0u, PR_SET_DUMPABLE),
        CALL(getppid),
        CALL(dup3),
        CALL(close_range),
        CALL(seccomp),
        CALL(sendto),
        CALL(sendmsg),
        CALL(setsockopt),
        CALL_IF(socket, 0, ~0u, AF_INET),
        CALL_IF(socket, 0, ~0u, AF_INET6),
        CALL_IF(socket, 0, ~0u, AF_UNIX),
        CALL_IF(socket, 0, ~0u, AF_NETLINK),
        CALL(socketpair),
        CALL(connect),
        CALL(bind),
        CALL(getsockname),
        CALL(getpeername),
        CALL(sendmmsg),
        CALL(recvmmsg),
        /* Of the helpers alone. */
        CALL(openat), CALL(mmap), CALL(mprotect), CALL(pread64), CALL(fstat), CALL(newfstatat), CALL(statx), CALL(faccessat),
        CALL(readlinkat), CALL(getdents64), CALL(lseek), CALL(fcntl), CALL_IF(ioctl, 1, ~0u, FIONREAD), CALL(getcwd), CALL(uname),
        CALL(getuid), CALL(geteuid), CALL(getgid), CALL(getegid), CALL_IF(prlimit64, 0, ~0u, 0), CALL(sched_yield),
        CALL(sched_getaffinity), CALL(rseq), CALL(set_robust_list), CALL(set_tid_address), CALL(rt_sigaction), CALL(sigaltstack),
        CALL(clock_nanosleep), CALL(epoll_create1), CALL(eventfd2), CALL(timerfd_create), CALL(timerfd_settime), CALL(pipe2), CALL(flock),
#if defined(__x86_64__)
        CALL(dup2), CALL(open), CALL(stat), CALL(lstat), CALL(access), CALL(readlink), CALL(arch_prctl),
#endif
};
/* clang-format on */

/* ---- parts ----------------------------------------------------------------------------------------------------------- */

/* capabilities(7): the bounding set can be cut only with CAP_SETPCAP, so before the rest; without it there is nothing to gain from it
 * either, once no_new_privs is set. It fails past the last capability that the kernel has. */
static void empty_bounding_set(void) {
        for (unsigned long cap = 0; cap < 64 && prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0; cap++)
                ;
        prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
}

/* From root to UID and GID, and for everyone: no capability, and none to be had again. */
static int drop_identity(uid_t uid, gid_t gid, struct error *err) {
        struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
        const struct __user_cap_data_struct none[2] = { 0 };

        if (geteuid() == 0 && (setgroups(0, NULL) < 0 || setresgid(gid, gid, gid) < 0 || setresuid(uid, uid, uid) < 0))
                return fail_errno(err, CODE_IDENTITY_INVALID, errno, "user", "cannot become user %u, group %u", uid, gid);
        if (syscall(SYS_capset, &header, none) < 0)
                return fail_errno(err, CODE_IDENTITY_INVALID, errno, "capabilities", "cannot give them up");
        return 0;
}

/* An empty directory as the root, read-only; what was mounted before is gone from this namespace. */
static int empty_root(void) {
        _cleanup_close_ int context = -1, root = -1;

        if (mount("", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
                return -errno;
        context = (int)syscall(SYS_fsopen, "tmpfs", FSOPEN_CLOEXEC);
        if (context < 0 || syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
                return -errno;
        root = (int)syscall(
                SYS_fsmount, context, FSMOUNT_CLOEXEC, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
        if (root < 0 || syscall(SYS_move_mount, root, "", AT_FDCWD, "/", MOVE_MOUNT_F_EMPTY_PATH) < 0 || fchdir(root) < 0)
                return -errno;
        /* pivot_root(2), "pivot_root(".", ".")": the old root ends up on top of the new one. */
        if (syscall(SYS_pivot_root, ".", ".") < 0 || umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
                return -errno;
        return 0;
}

/* prctl(2): a change of the user sets it to what the host likes, so after that. */
static int hide_memory(struct error *err) {
        return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ? fail_errno(err, CODE_LAUNCH_FAILED, errno, "limits", "cannot be undumpable") : 0;
}

static int restrict_files(int abi, const char *who, struct error *err) {
        if (abi >= 0)
                return 0;
        if (abi != -ENOSYS && abi != -EOPNOTSUPP)
                return fail_errno(err, CODE_LAUNCH_FAILED, -abi, "Landlock", "cannot restrict the %s", who);
        say_missing("Landlock");
        return 0;
}

int lockdown_before_split(struct error *err) {
        const struct rlimit none = { 0, 0 };

        calls_prepare_reports();
        empty_bounding_set();
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || setrlimit(RLIMIT_CORE, &none) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "limits", "cannot give up new privileges and core dumps");
        return 0;
}

/* ---- the front ------------------------------------------------------------------------------------------------------- */

static void say_what_is_missing(uint64_t namespaces) {
        static const struct {
                uint64_t flag;
                const char *name;
        } rows[] = {
                { CLONE_NEWPID, "pid namespace" },
                { CLONE_NEWNS, "mount namespace" },
                { CLONE_NEWIPC, "ipc namespace" },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++)
                if (!(namespaces & rows[i].flag))
                        say_missing(rows[i].name);
}

int lockdown_front(const struct dialer *dialer, const int *keep, size_t n, struct error *err) {
        const struct rlimit none = { 0, 0 };
        int all[LOCKDOWN_KEEP_MAX + 1], r;

        if (n > LOCKDOWN_KEEP_MAX)
                return fail(err, CODE_INTERNAL, 0, "descriptors", "the front keeps at most %d", LOCKDOWN_KEEP_MAX);
        memcpy(all, keep, n * sizeof *keep);
        all[n] = dialer->socket;
        if (fd_keep_only(3, all, n + 1) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, NULL, "cannot close what is not the front's");
        say_what_is_missing(dialer->namespaces);
        if (dialer->namespaces & CLONE_NEWNS && (r = empty_root()) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, -r, "/", "cannot make an empty root");
        /* user_namespaces(7): who makes one has every capability in it, and a bounding set that is full again. */
        if (dialer->namespaces & CLONE_NEWUSER)
                empty_bounding_set();
        if ((r = drop_identity(dialer->uid, dialer->gid, err)) < 0 || (r = hide_memory(err)) < 0)
                return r;
        /* prctl(2): a change of the user clears it, so not before. If the dialer has ended by now, its socket says so. */
        if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || setrlimit(RLIMIT_NPROC, &none) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, NULL, "cannot tie the front to the dialer");
        if ((r = restrict_files(landlock_only(&(struct landlock_allowed){ 0 }), "front", err)) < 0)
                return r;
        if ((r = calls_allow_only(front_calls, ELEMENTSOF(front_calls), FRONT_OTHERWISE, err)) < 0)
                return r;
        return dialer_await(dialer, err);
}

/* ---- the dialer ------------------------------------------------------------------------------------------------------ */

/* Where libraries, their configuration and what they ask (nscd, sssd, systemd-resolved) lie. The dialer itself reads nothing. */
static const char *const readable[] = {
        "/usr",
        "/lib",
        "/lib32",
        "/lib64",
        "/libx32",
        "/etc",
        "/run",
        "/var/run",
        "/var/lib/sss",
        "/var/lib/extrausers",
        "/var/cache/nscd",
        /* Where these are links, what they lead to. */
        "/etc/resolv.conf",
        "/etc/hosts",
        "/etc/nsswitch.conf",
        "/etc/ssl/certs",
};

/* The file system holds the programs, and the loader that the kernel starts them with (PT_INTERP): these alone may be executed. */
static int restrict_dialer_files(const struct dialer_options *options, const uint16_t *ports, size_t n_ports, struct error *err) {
        const char *directory = options->programs ? options->programs : PKGLIBEXECDIR;
        char programs[HELPER_KINDS][4096], loader[256] = "";
        const char *execute[HELPER_KINDS + 1];
        struct landlock_allowed allowed = {
                .read = readable,
                .n_read = ELEMENTSOF(readable),
                .execute = execute,
                .n_execute = ELEMENTSOF(execute),
                .connect = ports,
                .n_connect = n_ports,
                .signals = true, /* SIGTERM, to the front */
        };
        int r;

        for (int kind = 0; kind < HELPER_KINDS; kind++) {
                snprintf(programs[kind], sizeof programs[kind], "%s/%s", directory, helper_name(kind));
                execute[kind] = programs[kind];
        }
        if ((r = helper_loader(programs[HELPER_RESOLVER], loader, sizeof loader)) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, -r, programs[HELPER_RESOLVER], "cannot read which loader starts this program");
        execute[HELPER_KINDS] = loader;
        return restrict_files(landlock_only(&allowed), "dialer", err);
}

static int restrict_dialer(const struct dialer_options *options, struct error *err) {
        const struct policy *policy = options->policy;
        bool proxy = policy->mode == SAGE_NETWORK_MODE_PROXY;
        size_t n = proxy ? 1 : policy->n_ports;
        uint16_t *ports = calloc(n + 1, sizeof *ports);
        int r;

        if (!ports)
                return fail_errno(err, CODE_LAUNCH_FAILED, ENOMEM, "dialer", "cannot start");
        memcpy(ports, proxy ? &policy->proxy.port : policy->ports, n * sizeof *ports);
        ports[n] = 53; /* DNS over TCP, when an answer is too long (RFC 7766) */
        r = restrict_dialer_files(options, ports, n + 1, err);
        free(ports);
        return r;
}

int lockdown_dialer(const struct dialer_options *options, struct error *err) {
        int r;

        /* The rules first: whoever we become need not be able to reach the directory of the programs. */
        if ((r = restrict_dialer(options, err)) < 0 || (r = drop_identity(options->uid, options->gid, err)) < 0 ||
                (r = hide_memory(err)) < 0)
                return r;
        if (chdir("/") < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "/", "cannot leave the directory that we were started in");
        return calls_allow_only(dialer_calls, ELEMENTSOF(dialer_calls), SECCOMP_RET_ERRNO | EPERM, err);
}
