#define _GNU_SOURCE
#include "life/usher.h"

#include <errno.h>
#include <sched.h>
#include <unistd.h>

#include "apply/credentials.h"
#include "base/fd.h"
#include "base/process.h"

bool usher_needed(const struct plan_namespaces *namespaces) {
        return namespaces_joins(namespaces, CLONE_NEWUSER) || namespaces_joins(namespaces, CLONE_NEWPID) || namespaces->time_offsets ||
               (namespaces->create & CLONE_NEWUSER && namespaces->n_join);
}

/* The runtime, as who has rights over both sides, writes the maps. */
static int make_user_namespace(const struct child *child, struct error *err) {
        int r;

        if (!(child->plan->namespaces->create & CLONE_NEWUSER))
                return 0;
        if (unshare(CLONE_NEWUSER) < 0)
                return fail_errno(err, errno == ENOSPC ? CODE_RESOURCE_EXHAUSTED : CODE_LAUNCH_FAILED, errno, "linux.namespaces",
                                  "cannot make the user namespace");
        if ((r = sync_report(child->sync.child, REPORT_UNMAPPED, -1)) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, -r, "", "cannot report to the runtime");
        sync_await(child->sync.child, TOKEN_MAPPED);
        return 0;
}

static int lead(struct child *child, int cgroup, struct error *err) {
        const struct plan_namespaces *namespaces = child->plan->namespaces;
        uint64_t flags = namespaces_of_clone(namespaces) & ~(uint64_t)CLONE_NEWUSER;
        int r, ignored;
        pid_t pid;

        /* Not dumpable any more when there is somebody of us where others see him: in a joined pid namespace that may be at once. */
        if ((r = namespaces_join_ahead(namespaces, &child->joins, err)) < 0 || (r = make_user_namespace(child, err)) < 0 ||
            (r = namespaces_set_clocks(namespaces, err)) < 0 || (r = credentials_hide(err)) < 0)
                return r;
        pid = process_clone(flags | CLONE_PARENT, cgroup, &ignored);
        if (pid == 0) {
                if (sync_report_born(child->sync.child, 0) < 0)
                        _exit(1); /* the runtime would wait for this word, and we for its answer */
                child_main(child);
        }
        return pid < 0 ? child_not_made(child->plan, pid, err) : 0;
}

void usher_main(struct child *child, int cgroup) {
        struct error err;

        close_fd(&child->sync.runtime);
        close_fd(&child->host[0]);
        close_fd(&child->host[1]);
        if (lead(child, cgroup, &err) < 0)
                sync_report_error(child->sync.child, &err);
        _exit(0);
}
