#include "life/sandbox_init.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>

#include "apply/credentials.h"
#include "base/str.h"
#include "life/init.h"
#include "life/sync.h"

/* The sandbox's identity without anything besides: no group, no capability, no way to gain one. */
static int drop(const struct plan_plan *plan, struct error *err) {
        struct plan_capabilities none = { 0 };
        struct plan_process identity = {
                .uid = plan->process->uid,
                .gid = plan->process->gid,
                .no_new_privileges = true,
                .capabilities = &none,
        };
        int r;

        if ((r = credentials_drop_bounding(&identity, err)) < 0 || (r = credentials_no_new_privileges(&identity, err)) < 0)
                return r;
        return credentials_set(&identity, err);
}

/* After the last change of ids, which would take it back (PR_SET_PDEATHSIG(2const)). Of a runtime that is gone already, the next report
 * fails. */
static int die_with_runtime(const struct child *child, struct error *err) {
        if (!child->dies_with_us || prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0)
                return 0;
        return fail_errno(err, CODE_LAUNCH_FAILED, errno, "", "cannot tie the sandbox to its runtime");
}

/* Commands come in by way of this process (setns(2) with its pidfd), which takes the right to look into it (ptrace(2), PTRACE_MODE_READ). Root
 * of the host always has that. An ordinary user has it over everything that he started, but of a process that is not dumpable the kernel asks
 * who owns its memory, and ours is the runtime's still, of the host's user namespace (kernel/ptrace.c, __ptrace_may_access()). For him it is
 * dumpable, then. That opens it to nobody new: whoever is the same user on the host owns this sandbox, and a payload, which is the same user
 * too, is in a PID namespace that has no name for it. */
static int be_found(const struct child *child, struct error *err) {
        if (!child->owned_by_user || prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0)
                return 0;
        return fail_errno(err, CODE_LAUNCH_FAILED, errno, "", "cannot let commands come in");
}

int sandbox_init(struct child *child, struct error *err) {
        const struct plan_plan *plan = child->plan;
        int signals, r;
        pid_t main;

        if ((r = be_found(child, err)) < 0)
                return r;
        if ((r = sync_report(child->sync.child, REPORT_READY, -1)) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, -r, "", "cannot report to the runtime");
        main = sync_await(child->sync.child, TOKEN_GO);
        if ((r = drop(plan, err)) < 0 || (r = die_with_runtime(child, err)) < 0 || (r = be_found(child, err)) < 0)
                return r;
        if (!plan->process->args && child->gate >= 0) {
                child_heed_signals();
                if ((r = child_await_start(child, err)) < 0)
                        return r;
        }
        if ((r = init_collect_signals(&signals, err)) < 0)
                return r;
        if ((r = sync_report(child->sync.child, REPORT_EXEC, -1)) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, -r, "", "cannot report to the runtime");
        init_serve(signals, main, -1, child->monitor);
}
