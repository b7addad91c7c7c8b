#define _GNU_SOURCE
#include "life/streams.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/process.h"

#define FEED_BYTES (1 << 20)

static const char *const fields[] = { "process.stdin", "process.stdout", "process.stderr" };

static int refuse(int fd, const char *what, struct error *err) {
        return fail(err, CODE_CONFIG_INVALID, EINVAL, fields[fd],
                "%s cannot be handed into a strict sandbox: expected a pipe, a terminal, /dev/null or a connected Unix stream socket",
                what);
}

/* A stream socket of another family could be taken off its peer and connected to another, in the host's network (connect(2), AF_UNSPEC); a Unix
 * one cannot. */
static bool is_harmless_socket(int fd) {
        int type = 0, domain = 0, accepts = 1;
        socklen_t n = sizeof type;
        struct sockaddr_storage peer;
        socklen_t n_peer = sizeof peer;

        return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &n) == 0 && type == SOCK_STREAM &&
                getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &n) == 0 && domain == AF_UNIX &&
                getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &accepts, &n) == 0 && !accepts &&
                getpeername(fd, (struct sockaddr *)&peer, &n_peer) == 0;
}

/* 1: a regular file, which only a relay may read or write. */
static int check_one(int fd, struct error *err) {
        int flags = fcntl(fd, F_GETFL);
        struct stat st;

        if (flags < 0 || fstat(fd, &st) < 0)
                return fail_errno(err, CODE_CONFIG_INVALID, errno, fields[fd], "cannot look at it");
        if (flags & O_PATH)
                return refuse(fd, "a mere path", err);
        switch (st.st_mode & S_IFMT) {
        case S_IFIFO:
                return 0;
        case S_IFCHR:
                return isatty(fd) || st.st_rdev == makedev(1, 3) ? 0 : refuse(fd, "this device", err);
        case S_IFSOCK:
                return is_harmless_socket(fd) ? 0 : refuse(fd, "this socket", err);
        case S_IFREG:
                return 1;
        case S_IFDIR:
                return refuse(fd, "a directory", err);
        default:
                return refuse(fd, "this", err);
        }
}

/* Ends with the file, with the last reader, or with the runtime. */
__attribute__((noreturn)) static void feed(int pipe, pid_t parent) {
        char buffer[16384];
        ssize_t n;

        if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent || dup2(pipe, STDOUT_FILENO) < 0)
                _exit(1);
        close_range(STDERR_FILENO, ~0u, 0);
        while ((n = splice(STDIN_FILENO, NULL, STDOUT_FILENO, NULL, FEED_BYTES, 0)) > 0)
                ;
        /* A file system that cannot be spliced from. */
        while (n < 0 && (n = read(STDIN_FILENO, buffer, sizeof buffer)) > 0)
                for (ssize_t done = 0, written; done < n; done += written)
                        if ((written = write(STDOUT_FILENO, buffer + done, (size_t)(n - done))) < 0)
                                _exit(1);
        _exit(0);
}

static int feed_input(struct error *err) {
        _cleanup_close_ int reader = -1, writer = -1, pidfd = -1;
        const pid_t self = getpid();
        int fds[2];
        pid_t pid;

        if (pipe2(fds, O_CLOEXEC) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, fields[0], "cannot make a pipe");
        reader = fds[0];
        writer = fds[1];
        pid = process_clone(0, -1, &pidfd);
        if (pid == 0)
                feed(writer, self);
        if (pid < 0 || dup2(reader, STDIN_FILENO) < 0)
                return fail_errno(
                        err, CODE_LAUNCH_FAILED, pid < 0 ? -pid : errno, fields[0], "cannot stand between the command and its input");
        return 0;
}

int streams_check(const struct plan_process *process, const struct streams_use *use, struct error *err) {
        int r;

        if (use->preserved)
                return fail(err, CODE_CONFIG_INVALID, EINVAL, "--preserve-fds",
                        "a strict sandbox takes no descriptors but the standard streams");
        if (process->terminal || !process->args)
                return 0;
        for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
                if (fd != STDIN_FILENO && use->relayed)
                        continue;
                r = check_one(fd, err);
                if (r < 0)
                        return r;
                if (r > 0 && (fd != STDIN_FILENO || !use->stays))
                        return refuse(fd, "a file, which the command could open again with other rights,", err);
                if (r > 0 && (r = feed_input(err)) < 0)
                        return r;
        }
        return 0;
}
