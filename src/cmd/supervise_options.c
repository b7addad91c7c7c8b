#include "cmd/supervise_options.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "cmd/duration.h"
#include "plan/command_policy.h"

#define TIMEOUT_MAX_S UINT64_C(1000000000) /* as max_wall_time_seconds has it (schemas/sage-process.json) */

/* A record often lies in the workspace, where an earlier command may have put anything in its place: a symlink, by which we would empty and write any
 * file of the host, or a fifo, in which nobody would ever let us go on. Those of /dev and /proc are the kernel's and the host's. */
static int open_file(const char *text, int *ret, struct error *err) {
        const bool host = str_after(text, "/dev/") || str_after(text, "/proc/");
        _cleanup_close_ int fd = open(text, O_WRONLY | O_CREAT | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | (host ? 0 : O_NOFOLLOW), 0600);
        struct stat st;

        if (fd < 0 && errno == ELOOP)
                return fail(err, CODE_USAGE, ELOOP, "--result", "`%s` is a symlink: name the file itself", text);
        if (fd < 0 || fstat(fd, &st) < 0 || (S_ISREG(st.st_mode) && ftruncate(fd, 0) < 0) ||
                fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK) < 0)
                return fail_errno(err, CODE_USAGE, errno, "--result", "cannot open `%s`", text);
        *ret = take_fd(&fd);
        return 0;
}

/* The record is written when the command has ended, but a file that cannot be written is known before it has begun; and what an earlier
 * command's record says is gone by then, so that nobody takes it for this one's. */
static int open_record(const char *text, unsigned preserve_fds, int *ret, struct error *err) {
        const char *number = str_after(text, "fd:");
        uint64_t fd;
        int flags;

        if (!number)
                return open_file(text, ret, err);
        if (str_to_u64(number, INT_MAX, &fd) < 0 || fd <= STDERR_FILENO || fd < 3 + (uint64_t)preserve_fds)
                return fail(
                        err, CODE_USAGE, EINVAL, "--result", "expected fd:N with a descriptor that is not the command's, found `%s`", text);
        flags = fcntl((int)fd, F_GETFL);
        if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY) /* launch() and join() make it close-on-exec */
                return fail(err, CODE_USAGE, EBADF, "--result", "descriptor %d is not open for writing", (int)fd);
        *ret = (int)fd;
        return 0;
}

static int refuse_unkept(const struct supervise_options *o, bool detach, const char *console_socket, struct error *err) {
        const struct {
                bool given;
                const char *option;
        } given[] = {
                { o->timeout, "--timeout" },
                { o->max_output, "--max-output-bytes" },
                { o->die_with_parent, "--die-with-parent" },
                { o->result, "--result" },
        };

        for (size_t i = 0; detach && i < ELEMENTSOF(given); i++)
                if (given[i].given)
                        return fail(err, CODE_USAGE, EINVAL, given[i].option, "not beside --detach: nobody stays with the command");
        if (o->max_output && console_socket)
                return fail(err, CODE_USAGE, EINVAL, "--max-output-bytes", "not beside --console-socket: the output goes there");
        return 0;
}

int supervise_options_read(const struct supervise_options *o, bool detach, const char *console_socket, unsigned preserve_fds,
        struct supervision *ret, struct error *err) {
        int r;

        *ret = (struct supervision){ .record = -1 };
        ret->any = o->timeout || o->max_output || o->result || o->die_with_parent;
        if (!ret->any)
                return 0;
        if ((r = refuse_unkept(o, detach, console_socket, err)) < 0)
                return r;
        if (o->timeout && duration_parse(o->timeout, TIMEOUT_MAX_S, &ret->timeout_us) < 0)
                return fail(err, CODE_USAGE, EINVAL, "--timeout", "expected a time such as 5s or 0.5, found `%s`", o->timeout);
        if (o->max_output && (str_to_u64(o->max_output, INT64_MAX, &ret->max_output) < 0 || ret->max_output == 0))
                return fail(err, CODE_USAGE, EINVAL, "--max-output-bytes", "expected a number of bytes above 0, found `%s`", o->max_output);
        ret->die_with_parent = o->die_with_parent;
        ret->caller = o->die_with_parent ? getppid() : 0;
        return o->result ? open_record(o->result, preserve_fds, &ret->record, err) : 0;
}

static void tighten(uint64_t *limit, uint64_t policy) {
        if (policy && (*limit == 0 || *limit > policy))
                *limit = policy;
}

int supervise_policy(const struct plan_plan *plan, const char *console_socket, struct supervision *s, struct error *err) {
        const struct sage_process *policy = plan->sage ? plan->sage->process : NULL;

        if (plan->sandbox)
                s->any = true; /* its init ends with us by itself (dies_with_us) */
        if (!policy)
                return 0;
        s->any = true;
        tighten(&s->timeout_us, command_policy_time_us(policy));
        if (!console_socket)
                tighten(&s->max_output, command_policy_output(policy));
        return console_socket ? command_policy_uncounted(plan, err) : 0;
}
