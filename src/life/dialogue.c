#define _GNU_SOURCE
#include "life/dialogue.h"

#include <errno.h>
#include <fcntl.h>

#include "apply/terminal.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/str.h"
#include "life/listener.h"

/* Has the container's memory cgroup counted such an event? cgroup-v2.rst, memory.events: "oom_kill N", and "max N" for allocations that its
 * limit stood in the way of. */
static bool memory_event(const struct container *container, const char *name_and_blank) {
        const struct status_cgroup_claim *cgroup = container ? container->status.cgroup : NULL;
        _cleanup_close_ int fd = cgroup ? open(cgroup->path, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
        _cleanup_str_ struct str events = { 0 };
        const char *found;

        if (fd < 0 || file_read(fd, "memory.events", 4096, &events) < 0 || !(found = strstr(events.text, name_and_blank)))
                return false;
        return found[strlen(name_and_blank)] != '0';
}

static int out_of_memory(struct error *err) {
        return fail(err, CODE_RESOURCE_EXHAUSTED, ENOMEM, "linux.resources.memory.limit",
                    "the container ran out of memory before its program could start; raise the limit");
}

/* What the kernel refused the child, and what ended it: mostly that is the container's own limit. */
static int refused_memory(const struct container *container, struct error *err) {
        return memory_event(container, "\nmax ") ? out_of_memory(err) : -ENOMEM;
}

static int died(const struct container *container, struct error *err) {
        if (memory_event(container, "oom_kill "))
                return out_of_memory(err);
        return fail(err, CODE_LAUNCH_FAILED, EIO, "", "the container's process died before its program could start");
}

static int take_console(struct dialogue *dialogue, int *fd, struct error *err) {
        if (dialogue->console_socket)
                return terminal_send(dialogue->console_socket, *fd, err);
        close_fd(&dialogue->console);
        dialogue->console = take_fd(fd);
        terminal_settle(dialogue->console); /* now, so that the program finds it so from its first instruction on */
        return 0;
}

int dialogue_until(struct dialogue *dialogue, enum report until, struct error *err) {
        enum report report = 0;

        while (report != until) {
                _cleanup_close_ int fd = -1;
                pid_t pid = 0;
                int r;

                if ((r = interruption_wait(dialogue->interruption, dialogue->socket, err)) < 0)
                        return r;
                if ((r = sync_hear(dialogue->socket, &report, &fd, &pid, err)) < 0)
                        return r == -ENOMEM ? refused_memory(dialogue->container, err) : r;
                if (report == REPORT_GONE && (until != REPORT_GONE || !dialogue->executing))
                        return died(dialogue->container, err);
                if (report == REPORT_BORN)
                        dialogue->born = pid;
                if (report == REPORT_EXEC)
                        dialogue->executing = true;
                if (report == REPORT_CONSOLE && (r = take_console(dialogue, &fd, err)) < 0)
                        return r;
                if (report == REPORT_NOTIFY) {
                        close_fd(&dialogue->notify);
                        dialogue->notify = take_fd(&fd);
                }
                if (report == REPORT_LISTENER &&
                    (r = listener_send(dialogue->arena, dialogue->filter, dialogue->container, dialogue->pid, fd, err)) < 0)
                        return r;
        }
        return 0;
}
