#define _GNU_SOURCE
#include "apply/hooks.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stdbool.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "apply/seccomp.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/log.h"
#include "base/process.h"
#include "base/signals.h"
#include "base/str.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8u /* memfd_create(2), since 6.3; some hosts demand it (vm.memfd_noexec) */
#endif

/* What does not fit into a pipe: a file in memory that nobody can change any more, at its start. */
static int fill_memory(const char *state, size_t size, int *ret, const char *where, struct error *err) {
        _cleanup_close_ int fd = memfd_create("state", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
        int r;

        if (fd < 0 && errno == EINVAL)
                fd = memfd_create("state", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        r = fd < 0 ? -errno : file_write_all(fd, state, size);
        if (r < 0 || lseek(fd, 0, SEEK_SET) < 0 || fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0)
                return fail_errno(err, CODE_HOOK_FAILED, r < 0 ? -r : errno, where, "cannot keep the state of %zu bytes for the hook", size);
        *ret = take_fd(&fd);
        return 0;
}

/* The pipe is filled before the hook runs: a hook that reads nothing costs nobody a SIGPIPE, and none can block us. pipe(7):
 * 64 KiB unless made larger, which an ordinary user may do up to 1 MiB, and less when he has many. */
static int fill_pipe(const char *state, size_t size, int *ret_read_end, const char *where, struct error *err) {
        _cleanup_close_ int in = -1, out = -1;
        int ends[2], r;

        if (pipe2(ends, O_CLOEXEC) < 0)
                return fail_errno(err, CODE_HOOK_FAILED, errno, where, "cannot make a pipe for the hook's stdin");
        in = ends[0];
        out = ends[1];
        if (size > 65536 && fcntl(out, F_SETPIPE_SZ, (int)size) < 0)
                return fill_memory(state, size, ret_read_end, where, err);
        r = file_write_all(out, state, size);
        if (r < 0)
                return fail_errno(err, CODE_HOOK_FAILED, -r, where, "cannot write the state for the hook");
        *ret_read_end = take_fd(&in);
        return 0;
}

static int open_output(const char *path, const char *which, int *ret, struct error *err) {
        if (!path)
                return 0;
        *ret = open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOCTTY | O_CLOEXEC, 0600);
        return *ret < 0 ? fail_errno(err, CODE_LAUNCH_FAILED, errno, which, "cannot open %s", path) : 0;
}

int hook_output_open(const char *out, const char *err_path, struct hook_output *ret, struct error *err) {
        int r = open_output(out, "annotations[\"run.oci.hooks.stdout\"]", &ret->out, err);

        return r < 0 ? r : open_output(err_path, "annotations[\"run.oci.hooks.stderr\"]", &ret->err, err);
}

void hook_output_close(struct hook_output *output) {
        close_fd(&output->out);
        close_fd(&output->err);
}

/* dup2(2) of a descriptor on itself would leave it close-on-exec; none of ours has the number of a standard stream (main.c). */
static bool redirect(const struct hook_output *output) {
        return (output->out < 0 || dup2(output->out, STDOUT_FILENO) >= 0) && (output->err < 0 || dup2(output->err, STDERR_FILENO) >= 0);
}

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1ul << 5) /* seccomp(2), since 5.19 */
#endif

static bool confine(const struct hook_context *context) {
        const uint64_t about_listener = SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
        struct error err;
        int none = -1;

        if ((!context->own_filter || filter_load(context->own_filter, 0, &none, &err) == 0) &&
                (!context->filter || filter_load(context->filter, context->filter_flags & ~about_listener, &none, &err) == 0))
                return true;
        errno = err.errnum;
        return false;
}

/* In the forked hook. Its own process group, so that a timeout reaches what it started; the usual umask, because the child that builds
 * the container has none; and no descriptor of our caller's, ours being close-on-exec anyway. */
__attribute__((noreturn))
static void become_hook(const struct oci_hook *hook, int input, pid_t parent, const struct hook_context *context) {
        static const char *const nothing[] = { NULL };
        const char *const own_args[] = { hook->path, NULL };
        const char *const *env = hook->env ? (const char *const *)hook->env : context->environment ? context->environment : nothing;
        const char *const *args = hook->n_args ? (const char *const *)hook->args : own_args;

        /* Whoever cleans up after a runtime that was killed does not know of its hooks. */
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
                _exit(127);
        (void)signals_reset();
        setpgid(0, 0);
        umask(022);
        if (context->directory)
                (void)!chdir(context->directory);
        if (dup2(input, STDIN_FILENO) >= 0 && redirect(&context->output) && syscall(SYS_close_range, 3, ~0u, 0) == 0 && confine(context))
                execve(hook->path, (char *const *)args, (char *const *)env);
        dprintf(STDERR_FILENO, "sage-runtime: cannot execute the hook %s: %m\n", hook->path);
        _exit(127);
}

/* -1: as long as it takes. Whoever says more than 24 days means that, too. */
static int timeout_ms(const struct oci_hook *hook) {
        return hook->has & OCI_HOOK_HAS_TIMEOUT && hook->timeout <= INT_MAX / 1000 ? hook->timeout * 1000 : -1;
}

/* -ECHILD: the container's process ended first; -EINTR: we are to end. */
static int wait_for(int hook, const struct hook_context *context, int timeout) {
        struct pollfd fds[] = { { .fd = hook, .events = POLLIN }, { .fd = context->process ? *context->process : -1, .events = POLLIN },
                                { .fd = context->interruption ? context->interruption->fd : -1, .events = POLLIN } };
        int r;

        do
                r = poll(fds, ELEMENTSOF(fds), timeout);
        while (r < 0 && errno == EINTR);
        if (r < 0)
                return -errno;
        if (r == 0)
                return -ETIMEDOUT;
        return fds[0].revents ? 0 : fds[1].revents ? -ECHILD : -EINTR;
}

/* what: the words that runc has for a hook that fails, which people look for in their logs. */
static int run_one(const struct oci_hook *hook, const char *what, const char *where, const struct hook_context *context, struct error *err) {
        _cleanup_close_ int input = -1, pidfd = -1;
        const pid_t self = getpid();
        int r, reaped, status = 0;
        pid_t pid;

        if ((r = fill_pipe(context->state, context->state_size, &input, where, err)) < 0)
                return r;
        log_debug("%s: running %s", where, hook->path);
        pid = process_clone(0, -1, &pidfd);
        if (pid < 0)
                return fail_errno(err, CODE_HOOK_FAILED, -pid, where, "cannot fork the hook");
        if (pid == 0)
                become_hook(hook, input, self, context);
        setpgid(pid, pid); /* whoever of the two comes first */

        r = wait_for(pidfd, context, timeout_ms(hook));
        if (r < 0)
                kill(-pid, SIGKILL);
        reaped = process_reap(pidfd, &status);
        if (r == -EINTR)
                return interruption_take(context->interruption, err);
        if (r == -ETIMEDOUT)
                return fail(err, CODE_TIMEOUT, EIO, where, "%s: %s did not end within %d s and was killed", what, hook->path, hook->timeout);
        if (r == -ECHILD)
                return fail(err, CODE_HOOK_FAILED, EIO, where, "%s: the container's process ended, and %s was killed", what, hook->path);
        if (reaped < 0)
                return fail_errno(err, CODE_HOOK_FAILED, -reaped, where, "%s: cannot tell how %s ended", what, hook->path);
        if (status > 128)
                return fail(err, CODE_HOOK_FAILED, EIO, where, "%s: %s was killed by signal %d (%s)", what, hook->path,
                            status - 128, strsignal(status - 128));
        if (status != 0)
                return fail(err, CODE_HOOK_FAILED, EIO, where, "%s: %s failed with status %d", what, hook->path, status);
        return 0;
}

static int run_number(const char *point, const struct oci_hook *hooks, size_t i, const struct hook_context *context, struct error *err) {
        char where[64], what[96];

        snprintf(where, sizeof where, "hooks.%s[%zu]", point, i);
        snprintf(what, sizeof what, "error running %s hook #%zu", point, i);
        return run_one(&hooks[i], what, where, context, err);
}

int hooks_run(const char *point, const struct oci_hook *hooks, size_t n, const struct hook_context *context, struct error *err) {
        for (size_t i = 0; i < n; i++) {
                int r = run_number(point, hooks, i, context, err);

                if (r < 0)
                        return r;
        }
        return 0;
}

void hooks_run_all(const char *point, const struct oci_hook *hooks, size_t n, const struct hook_context *context) {
        for (size_t i = 0; i < n; i++) {
                struct error err;

                if (run_number(point, hooks, i, context, &err) < 0)
                        log_message(LOG_LEVEL_WARNING, "%s: %s", err.where, err.text);
        }
}
