#define _GNU_SOURCE
#include "life/payload.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <sys/personality.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "apply/container_path.h"
#include "apply/credentials.h"
#include "apply/lsm.h"
#include "apply/memory_policy.h"
#include "apply/procfs.h"
#include "apply/rlimits.h"
#include "apply/rootfs.h"
#include "apply/seccomp.h"
#include "apply/terminal.h"
#include "base/fd.h"
#include "base/process.h"
#include "base/signals.h"
#include "base/str.h"
#include "life/sync.h"
#include "plan/filter_verdict.h"
#include "plan/payload_filter.h"

/* execvp(3) without a PATH in the environment would use this; so do runc and crun. */
static const char default_path[] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

void payload_prepare(struct arena *arena, const struct plan_plan *plan, const struct plan_process *process,
                     const struct filter_program *filter, struct payload *ret) {
        *ret = (struct payload){ .plan = plan, .process = process, .n_env = process->n_env, .filter = filter, .proc = -1 };
        if (plan->sage)
                ret->own_filter = payload_filter_build(arena, payload_filter_parts(plan->sage), FILTER_THIS_MACHINE);
        ret->env = arena_array(arena, const char *, process->n_env + PAYLOAD_ENV_MORE + 1);
        for (size_t i = 0; i < process->n_env; i++)
                ret->env[i] = process->env[i];
}

bool payload_add_variable(struct payload *payload, const char *variable) {
        size_t name_and_sign = strcspn(variable, "=") + 1;

        for (size_t i = 0; i < payload->n_env; i++)
                if (strncmp(payload->env[i], variable, name_and_sign) == 0)
                        return false;
        payload->env[payload->n_env++] = variable;
        return true;
}

int payload_begin(struct payload *payload, struct error *err) {
        const struct plan_process *process = payload->process;
        int r = signals_reset();

        if (r < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, -r, "/proc/self/status", "cannot see which signals are ignored");
        return process->apparmor_profile || process->selinux_label ? procfs_open(&payload->proc, err) : 0;
}

static const char *find_variable(const struct payload *payload, const char *name_and_sign) {
        for (size_t i = 0; i < payload->n_env; i++) {
                const char *value = str_after(payload->env[i], name_and_sign);

                if (value)
                        return value;
        }
        return NULL;
}

/* Copies the home directory of UID out of TEXT, a passwd(5) file, into HOME of SIZE bytes. The file is the image's: any line may be anything. */
static bool passwd_home(char *text, uint32_t uid, char *home, size_t size) {
        for (char *line = text, *next; line && *line; line = next) {
                char *field[7];
                uint64_t found;
                size_t n = 0;

                next = strchr(line, '\n');
                if (next)
                        *next++ = '\0';
                for (char *at = line; at && n < ELEMENTSOF(field); n++) {
                        field[n] = at;
                        at = strchr(at, ':');
                        if (at)
                                *at++ = '\0';
                }
                if (n == ELEMENTSOF(field) && str_to_u64(field[2], UINT32_MAX, &found) == 0 && found == uid && field[5][0] == '/')
                        return snprintf(home, size, "HOME=%s", field[5]) < (int)size;
        }
        return false;
}

static void add_home(struct payload *payload, int root) {
        static char home[512], text[32768]; /* the child is one process with one payload; static is cheaper than its stack */
        _cleanup_close_ int fd = -1;
        struct error ignored;
        struct stat st;
        ssize_t n = 0;

        /* O_NONBLOCK: the image may have put a FIFO there. A longer file than TEXT is read as far as that goes. */
        if (container_path_open(root, "/etc/passwd", O_RDONLY | O_NONBLOCK | O_NOCTTY, &fd, &ignored) == 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
                n = read(fd, text, sizeof text - 1);
        text[n > 0 ? n : 0] = '\0';
        if (!passwd_home(text, payload->process->uid, home, sizeof home))
                snprintf(home, sizeof home, "HOME=/");
        payload->env[payload->n_env++] = home;
}

/* Is PATH something execve(2) would start, as far as its kind and mode tell? 0, or the negative errno to report. */
static int executable(const char *path) {
        struct stat st;

        if (stat(path, &st) < 0)
                return -errno;
        if (!S_ISREG(st.st_mode) || !(st.st_mode & 0111))
                return -EACCES;
        return 0;
}

/* "BEFORE `NAME`AFTER: REASON". The reason begins with a small letter, as Go has it: Docker's client makes the exit statuses 126 and 127 of
 * "permission denied" and "no such file or directory" (docker/cli, cli/command/container/run.go), podman of any spelling. */
static int unavailable(enum code code, int errnum, const char *before, const char *name, const char *after, struct error *err) {
        const char *reason = strerror(errnum);

        return fail(err, code, errnum, "process.args", "%s `%s`%s: %c%s", before, name, after, tolower((unsigned char)reason[0]), reason + 1);
}

int payload_find_program(struct payload *payload, struct error *err) {
        const char *name = payload->process->args[0], *path = find_variable(payload, "PATH=");
        int found = -ENOENT;

        if (strchr(name, '/')) {
                snprintf(payload->program, sizeof payload->program, "%s", name);
                found = executable(name);
                return found < 0 ? unavailable(CODE_EXECUTABLE_UNAVAILABLE, -found, "open executable", name, "", err) : 0;
        }
        for (const char *at = path ? path : default_path; *name && at; ) {
                const char *end = strchrnul(at, ':');
                int n = snprintf(payload->program, sizeof payload->program, "%.*s/%s", end == at ? 1 : (int)(end - at), end == at ? "." : at, name);
                int r = n < (int)sizeof payload->program ? executable(payload->program) : -ENAMETOOLONG;

                if (r == 0)
                        return 0;
                if (r == -EACCES)
                        found = r;
                at = *end ? end + 1 : NULL;
        }
        /* Engines make 127 of the words "not found", whatever else is said: what is there but may not be executed is 126. */
        if (found == -EACCES)
                return unavailable(CODE_EXECUTABLE_UNAVAILABLE, EACCES, "open executable", name, "", err);
        return unavailable(CODE_EXECUTABLE_UNAVAILABLE, -found, "executable file", name, " not found in $PATH", err);
}

static int set_personality(const struct plan_plan *plan, struct error *err) {
        if (!(plan->has & PLAN_PLAN_HAS_PERSONALITY) || personality(plan->personality) >= 0)
                return 0;
        if (errno == EINVAL) /* arch/arm64/kernel/sys.c: PER_LINUX32 where no CPU runs 32-bit programs */
                return fail(err, CODE_CAPABILITY_UNSUPPORTED, EINVAL, "linux.personality.domain", "this machine cannot run 32-bit programs");
        return fail_errno(err, CODE_LAUNCH_FAILED, errno, "linux.personality", "cannot set the execution domain");
}

int payload_settle(struct payload *payload, struct error *err) {
        _cleanup_close_ int root = -1;
        int r;

        if ((r = set_personality(payload->plan, err)) < 0)
                return r;
        if (payload->process->add_home) {
                root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
                if (root < 0)
                        return fail_errno(err, CODE_LAUNCH_FAILED, errno, "/", "cannot open the container's root");
                add_home(payload, root);
        }
        r = cwd_enter(payload->process->cwd, err);
        if (r < 0 && r != -EACCES)
                return r;
        payload->cwd_later = r == -EACCES;
        return payload_find_program(payload, err);
}

int payload_open_terminal(const struct payload *payload, int sync, int *ret_slave, struct error *err) {
        const struct plan_process *process = payload->process;
        _cleanup_close_ int master = -1, slave = -1, root = -1;
        int r;

        if (!process->terminal)
                return 0;
        root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (root < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "/", "cannot open the container's root");
        if ((r = terminal_open_pair(root, process->console_width, process->console_height, &master, &slave, err)) < 0 ||
            (r = terminal_own(slave, process->uid, err)) < 0)
                return r;
        if ((r = sync_report(sync, REPORT_CONSOLE, master)) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, -r, "process.terminal", "cannot hand over the terminal");
        *ret_slave = take_fd(&slave);
        return 0;
}

static int load_own_filter(const struct payload *payload, struct error *err) {
        int none, r;

        if (payload->own_filter.count == 0 || (r = filter_load(&payload->own_filter, 0, &none, err)) == 0)
                return 0;
        return fail_errno(err, CODE_LAUNCH_FAILED, -r, "sage.sandbox", "cannot load the sandbox's filter%s",
                r == -EACCES ? ": the kernel takes one only with noNewPrivileges or CAP_SYS_ADMIN" : "");
}

/* The sandbox's filter goes on before the bundle's, which may refuse seccomp(2). For what they say of a call the order makes no difference:
 * the kernel asks all of them, and the sternest verdict holds (seccomp(2)). The first has no listener, so that whoever answers for the
 * second (SCMP_ACT_NOTIFY) can let nothing pass that it refuses.
 *
 * Both come last in what becomes the payload, and only there: the inits of a sandbox and of its commands, who clone it, mount its /proc and
 * kill what it leaves, need calls that are refused here. Nothing of ours that a payload could confuse runs under them but execve(2). */
static int load_filters(struct payload *payload, int sync, struct error *err) {
        _cleanup_close_ int listener = -1;
        int r = load_own_filter(payload, err);

        if (r < 0 || !payload->filter)
                return r;
        r = filter_load(payload->filter, payload->plan->filter->flags, &listener, err);
        if (r == 0 && listener >= 0 && (r = sync_report(sync, REPORT_LISTENER, listener)) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, -r, "linux.seccomp.listenerPath", "cannot hand over the seccomp listener");
        return r;
}

/* /dev/stdout and its like open the pipe anew, which takes the owner's right: engines make it as root, and many programs of images write
 * their logs there as another user. A file or a terminal is our caller's own; one in a user namespace that does not know its owner stays. */
static void give_pipes(uint32_t uid) {
        struct stat st;

        for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
                if (fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode) && st.st_uid != uid)
                        (void)!fchown(fd, uid, (gid_t)-1);
}

/* Will NUMBER with FIRST as its first argument pass what payload_drop() puts on? */
static bool passes(const struct payload *payload, int number, uint64_t first) {
        return payload->process->no_new_privileges ||
               ((!payload->filter || filter_allows(payload->filter, number, first)) &&
                (payload->own_filter.count == 0 || filter_allows(&payload->own_filter, number, first)));
}

bool payload_may_fork(const struct payload *payload) {
        return passes(payload, SYS_clone, PROCESS_SIBLING);
}

bool payload_may_wait(const struct payload *payload) {
        static const int calls[] = { SYS_recvfrom, SYS_sendmsg, SYS_accept4, SYS_close };

        if (!payload->process->no_new_privileges && payload->filter &&
            payload->plan->filter->flags & SECCOMP_FILTER_FLAG_NEW_LISTENER) /* `start` hands that over */
                return false;
        for (size_t i = 0; i < ELEMENTSOF(calls); i++)
                if (!passes(payload, calls[i], 0))
                        return false;
        return true;
}

int payload_drop(struct payload *payload, int sync, struct error *err) {
        const struct plan_process *process = payload->process;
        int r;

        r = lsm_set_exec_label(process, payload->proc, err);
        close_fd(&payload->proc); /* a directory of the host's: execve(2) must not find it */
        if (r < 0 ||
            (r = credentials_drop_bounding(process, err)) < 0 ||
            (r = credentials_no_new_privileges(process, err)) < 0 ||
            (r = memory_policy_set(payload->plan, err)) < 0)
                return r;

        if (process->uid != 0 && !process->terminal)
                give_pipes(process->uid);

        /* Without no_new_privs a filter needs CAP_SYS_ADMIN (seccomp(2)), so it goes on while we hold it; with it, last, so that
         * it need not allow what we do ourselves. */
        if (!process->no_new_privileges && (r = load_filters(payload, sync, err)) < 0)
                return r;
        if ((r = credentials_set(process, err)) < 0)
                return r;
        return payload->cwd_later ? cwd_enter(process->cwd, err) : 0;
}

int payload_execute(struct payload *payload, int sync, struct error *err) {
        const struct plan_process *process = payload->process;
        int r;

        if (payload->listen_pid)
                snprintf(payload->listen_pid, PAYLOAD_LISTEN_PID_SIZE, "LISTEN_PID=%d", getpid());
        if (sync_report(sync, REPORT_EXEC, -1) == -EPIPE)
                _exit(1); /* nobody waits for us any more */
        if ((r = rlimits_finish(process, err)) < 0 || (process->no_new_privileges && (r = load_filters(payload, sync, err)) < 0))
                return r;

        execve(payload->program, (char *const *)(uintptr_t)process->args, (char *const *)(uintptr_t)payload->env);
        r = -errno;
        return unavailable(r == -E2BIG ? CODE_CONFIG_INVALID : CODE_EXECUTABLE_UNAVAILABLE, -r, "cannot execute", payload->program, "", err);
}

int payload_exec(struct payload *payload, int sync, struct error *err) {
        int r = payload_drop(payload, sync, err);

        return r < 0 ? r : payload_execute(payload, sync, err);
}
