/* Identity and capabilities of the payload. All of it in the child, by raw system calls: the child is one thread, and libc's wrappers would
 * signal others that are not there.
 *
 * The order, kept by the caller: rlimits_set() … credentials_drop_bounding(), credentials_set(), with credentials_no_new_privileges()
 * before a filter is loaded, or, where privileges may be gained, the filter before credentials_set() while CAP_SYS_ADMIN is still there
 * (seccomp(2)). */
#pragma once

#include "base/error.h"
#include "spec/plan.h"

/* Bounding bits that the process shall not have, as far as this kernel knows capabilities. Needs CAP_SETPCAP. */
int credentials_drop_bounding(const struct plan_process *process, struct error *err);

/* Groups, gid, uid, capability sets and umask (0022 where none is asked for). The process stays non-dumpable throughout: until it runs the
 * payload's program, nobody in the container may attach to it or look at its descriptors (CVE-2016-9962). */
int credentials_set(const struct plan_process *process, struct error *err);

int credentials_no_new_privileges(const struct plan_process *process, struct error *err);

/* PR_SET_DUMPABLE 0: first thing of a child, and whatever changes ids by itself calls it again after that. */
int credentials_hide(struct error *err);
