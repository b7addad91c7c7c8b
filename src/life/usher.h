/* A process that goes ahead of a container's first one, where one clone3(2) of the runtime cannot make that as it has to be:
 *
 *  - A user namespace is joined: all that the container gets of its own must belong to that one, so who makes it must be in there.
 *  - A user namespace is made, and others are joined: those do not belong to the new one, so they come first.
 *  - A pid namespace is joined: it takes in only children (pid_namespaces(7)), and the runtime stays in its own, where its hooks run.
 *  - A time namespace gets offsets: they can be set only before it has a process (time_namespaces(7)).
 *
 * The usher is outside of the container's cgroup, joins, and then makes the first process in its place: in the cgroup, and as a child of the
 * runtime (CLONE_PARENT). That one says REPORT_BORN and goes on as child.h tells. */
#pragma once

#include "life/child.h"

bool usher_needed(const struct plan_namespaces *namespaces);

/* What the runtime's own clone makes, then: nothing. The usher's; never returns. cgroup: directory of the container's, or -1. */
__attribute__((noreturn))
void usher_main(struct child *child, int cgroup);
