#include "cmd/command.h"

#include <errno.h>
#include <signal.h>

#include "apply/cgroup.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/process.h"
#include "base/str.h"
#include "cmd/matching.h"
#include "cmd/signals.h"
#include "life/cgroup_claim.h"
#include "life/processes.h"

struct kill_options {
        bool all, regex;
        int signal;
};

static const struct option_row options[] = {
        { "all", 'a', OPTION_FLAG, offsetof(struct kill_options, all), "signal every process of the container" },
        { "regex", 'r', OPTION_FLAG, offsetof(struct kill_options, regex), "ID is a regular expression for the ids of many" },
};
extern const struct command command_kill;

/* A pid namespace ends with its first process; in one that others share, KILL for that would leave the rest of the container. Its cgroup is
 * the container, as long as it was made for it. */
static int kill_group(struct invocation *invocation, const struct container *container, int init, bool *ret_done, struct error *err) {
        const struct status_status *status = &container->status;
        bool populated = false;
        _cleanup_close_ int fd = -1;
        int r;

        *ret_done = false;
        if (!status->shared_pids || !status->cgroup || status->cgroup->ours == 0 || cgroup_claim_open(container, &fd) < 0)
                return 0;
        if ((r = cgroup_populated(fd, &populated, err)) < 0 || !populated)
                return r;
        *ret_done = true;
        return container_signal_all(invocation->arena, container, init, SIGKILL, err);
}

/* Takes no lock: a signal may be what ends whatever another command is waiting for, and a pidfd does not need one. */
static int kill_one(struct invocation *invocation, const char *id, const void *options, struct error *err) {
        _cleanup_container_ struct container container = CONTAINER_CLOSED;
        const struct kill_options *o = options;
        _cleanup_close_ int pidfd = -1;
        enum oci_status status;
        bool done;
        int r;

        if ((r = container_open(invocation->arena, invocation->root, id, CONTAINER_UNLOCKED, &container, err)) < 0 ||
                (r = container_state(&container, &status, &pidfd, err)) < 0)
                return r;
        if (o->regex && pidfd < 0) /* of many, some may have ended */
                return 0;
        if (o->all)
                return container_signal_all(invocation->arena, &container, pidfd, o->signal, err);
        if (o->signal == SIGKILL && ((r = kill_group(invocation, &container, pidfd, &done, err)) < 0 || done))
                return r;
        /* containerd, CRI-O and podman look for these words. */
        if (pidfd < 0)
                return fail(err, CODE_INVALID_STATE, ESRCH, "", "container not running");
        log_debug("%s: signal %d for process %d", id, o->signal, container.status.init->pid);
        r = process_signal(pidfd, o->signal);
        if (r == -ESRCH)
                return fail(err, CODE_INVALID_STATE, ESRCH, "", "container not running");
        return r < 0 ? fail_errno(err, CODE_INTERNAL, -r, "", "cannot send signal %d", o->signal) : 0;
}

static int run(struct invocation *invocation, int argc, char **argv, int *ret_status, struct error *err) {
        struct kill_options o = { .signal = SIGTERM };
        char **operands;
        int n, r;

        if ((r = command_parse(invocation, &command_kill, argc, argv, &o, 1, 2, &operands, &n, err)) < 0 ||
                (n > 1 && (r = signal_parse(operands[1], &o.signal, err)) < 0))
                return r;
        *ret_status = 0;
        return o.regex ? matching_containers(invocation, operands[0], kill_one, &o, err) : kill_one(invocation, operands[0], &o, err);
}

const struct command command_kill = { "kill", "ID [SIGNAL]", "send a signal (TERM) to the container's process", run, options,
        ELEMENTSOF(options), 1, OPTIONS_ANYWHERE };
