#define _GNU_SOURCE
#include "base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"

#ifndef P_PIDFD
#define P_PIDFD 3 /* waitid(2), since 5.4 */
#endif

pid_t process_clone(uint64_t flags, int cgroup, int *ret_pidfd) {
        int pidfd = -1;
        struct clone_args args = {
                .flags = flags | CLONE_PIDFD | CLONE_CLEAR_SIGHAND | (cgroup >= 0 ? CLONE_INTO_CGROUP : 0),
                .pidfd = (uint64_t)(uintptr_t)&pidfd,
                .exit_signal = flags & CLONE_PARENT ? 0 : SIGCHLD, /* clone3(2): a sibling ends as we do */
                .cgroup = cgroup >= 0 ? (uint64_t)cgroup : 0,
        };
        pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof args);

        /* Filters that cannot look at clone3's flags say that it is not there (Docker's profile): a process under one, which runs hooks,
         * has the older call. */
        if (pid < 0 && errno == ENOSYS && cgroup < 0)
                pid = (pid_t)syscall(SYS_clone, flags | CLONE_PIDFD | SIGCHLD, NULL, &pidfd, NULL, NULL);
        if (pid < 0)
                return -errno;
        if (pid > 0)
                *ret_pidfd = pidfd;
        return pid;
}

_Static_assert(PROCESS_SIBLING == (CLONE_PARENT | SIGCHLD), "linux/sched.h, asm/signal.h");

pid_t process_sibling(void) {
        pid_t pid = (pid_t)syscall(SYS_clone, PROCESS_SIBLING, NULL, NULL, NULL, NULL);

        return pid < 0 ? -errno : pid;
}

int process_adopt(pid_t pid, int *ret_pidfd) {
        _cleanup_close_ int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
        siginfo_t info;

        if (pidfd < 0)
                return -errno;
        if (waitid((idtype_t)P_PIDFD, (id_t)pidfd, &info, WEXITED | WNOHANG | WNOWAIT) < 0)
                return -errno;
        *ret_pidfd = take_fd(&pidfd);
        return 0;
}

int process_signal(int pidfd, int signal) {
        return syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, 0) < 0 ? -errno : 0;
}

int process_start_time(pid_t pid, uint64_t *ret, bool *ret_dead) {
        char path[32], text[1024], *at;
        _cleanup_close_ int fd = -1;
        ssize_t n;

        snprintf(path, sizeof path, "/proc/%d/stat", pid);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                return errno == ENOENT ? -ESRCH : -errno;
        n = read(fd, text, sizeof text - 1);
        if (n < 0)
                return -errno;
        text[n] = '\0';

        /* Field 2 is the command's name in parentheses, and may itself hold any of " )(": the last ')' ends it. */
        at = strrchr(text, ')');
        if (!at || at[1] != ' ')
                return -EPROTO;
        at += 2;
        *ret_dead = *at == 'Z' || *at == 'X';
        for (int field = 3; field < 22; field++) {
                at = strchr(at, ' ');
                if (!at)
                        return -EPROTO;
                at++;
        }
        *ret = strtoull(at, NULL, 10);
        return 0;
}

int process_open(pid_t pid, uint64_t start_time, int *ret_pidfd) {
        _cleanup_close_ int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
        uint64_t found;
        bool dead;
        int r;

        if (pidfd < 0)
                return -errno;
        /* Read after the pidfd is held: whatever /proc/PID shows now is the process that the pidfd names, or its successor. */
        r = process_start_time(pid, &found, &dead);
        if (r < 0)
                return r;
        if (found != start_time || dead)
                return -ESRCH;
        *ret_pidfd = take_fd(&pidfd);
        return 0;
}

int process_wait_end(int pidfd, int timeout_ms) {
        struct pollfd p = { .fd = pidfd, .events = POLLIN };
        int r;

        do
                r = poll(&p, 1, timeout_ms);
        while (r < 0 && errno == EINTR);
        if (r < 0)
                return -errno;
        return r == 0 ? -ETIMEDOUT : 0;
}

int process_reap_end(int pidfd, struct process_end *ret) {
        siginfo_t info = { 0 };
        int r;

        do
                r = waitid((idtype_t)P_PIDFD, (id_t)pidfd, &info, WEXITED);
        while (r < 0 && errno == EINTR);
        if (r < 0)
                return -errno;
        *ret = (struct process_end){ .signal = info.si_code == CLD_EXITED ? 0 : info.si_status,
                                     .exit_code = info.si_code == CLD_EXITED ? info.si_status : 0 };
        return 0;
}

int process_reap(int pidfd, int *ret_status) {
        struct process_end end;
        int r = process_reap_end(pidfd, &end);

        if (r < 0)
                return r;
        *ret_status = process_end_status(end);
        return 0;
}

/* Asked once: it does not change while we live, and a launch wants it for its claims and again for their release. */
int process_boot_id(char ret[37]) {
        static char known[37];

        if (!*known) {
                _cleanup_close_ int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
                char read_now[36];

                if (fd < 0)
                        return -errno;
                if (read(fd, read_now, sizeof read_now) != sizeof read_now)
                        return -EIO;
                memcpy(known, read_now, sizeof read_now);
        }
        memcpy(ret, known, sizeof known);
        return 0;
}

/* proc_pid_status(5): "NSpid:" has the number in the namespace of the procfs first, and then in each one below it. */
int process_number_inside(pid_t pid, pid_t *ret) {
        _cleanup_close_ int fd = -1;
        char path[32], text[4096], *at;
        long number;
        ssize_t n;

        snprintf(path, sizeof path, "/proc/%d/status", pid);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
        if (n < 0)
                return -errno;
        text[n] = '\0';
        at = strstr(text, "\nNSpid:");
        if (!at)
                return -ENODATA;
        at += strlen("\nNSpid:");
        (void)strtol(at, &at, 10);
        if (*at != '\t' || (number = strtol(at, NULL, 10)) <= 0)
                return -ENODATA;
        *ret = (pid_t)number;
        return 0;
}

/* cgroups(7): the line of the unified hierarchy is "0::PATH". */
int process_cgroup(pid_t pid, char *path, size_t size) {
        char name[32] = "/proc/self/cgroup", text[8192], *line, *end;
        _cleanup_close_ int fd = -1;
        ssize_t n;

        if (pid)
                snprintf(name, sizeof name, "/proc/%d/cgroup", pid);
        fd = open(name, O_RDONLY | O_CLOEXEC);
        n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
        if (n < 0)
                return -errno;
        text[n] = '\0';
        line = strncmp(text, "0::", 3) == 0 ? text : strstr(text, "\n0::");
        line = line ? strchr(line, '/') : NULL;
        end = line ? strchr(line, '\n') : NULL;
        if (!end || (size_t)(end - line) >= size)
                return -ENODATA;
        memcpy(path, line, (size_t)(end - line));
        path[end - line] = '\0';
        return 0;
}
