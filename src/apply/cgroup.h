/* A container's cgroup on cgroup v2, made and removed by the runtime itself. Called in the runtime, not in the child.
 *
 * PATH is always absolute and on the host, below the mount. Failures name the path or the field of config.json. What a failed call has
 * made is removed by cgroup_remove() with the claim that cgroup_ours() counted before. Sources: cgroup-v2.rst in the kernel's
 * documentation, kernel/cgroup/cgroup.c. */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "spec/plan.h"

/* How many components at the end of PATH do not exist yet. They will be ours to remove; 0: somebody else made the cgroup. */
int cgroup_ours(const char *path, unsigned *ret_components, struct error *err);

/* Makes PATH with its parents, and enables the controllers that CGROUP needs, and those it wants for accounting where this host has them,
 * on the way from the mount down. A cgroup that exists is taken when it is an ordinary, empty one that is not frozen and was not made
 * here for another container.
 *
 * ours    what cgroup_ours() said. Where PATH was missing then and is there now, another container is being made in it: -EBUSY, and 0 here,
 *         so that the undoing does not reach that one
 * ret_fd  O_PATH | O_DIRECTORY, for CLONE_INTO_CGROUP and the functions below */
int cgroup_create(const char *path, const struct plan_cgroup *cgroup, unsigned *ours, int *ret_fd, struct error *err);

/* The second half of it, for a cgroup that is there: the controllers of CGROUP for PATH, whose descriptor FD is. */
int cgroup_enable(const char *path, int fd, const struct plan_cgroup *cgroup, struct error *err);

/* Writes the limits of CGROUP in order, reads numbers back and compares them, then gives the cgroup to its owner and attaches the device program. -EPERM when only that
 * last step is not for this user. */
int cgroup_limit(int fd, const struct plan_cgroup *cgroup, struct error *err);

/* One of those writes. */
int cgroup_limit_one(int fd, const struct plan_cgroup_write *limit, struct error *err);

/* Refuses a memory.max below what is in use, where CGROUP asks for that (memory.checkBeforeUpdate). */
int cgroup_check_memory(int fd, const struct plan_cgroup *cgroup, struct error *err);

/* SIGKILL for every process in and below the cgroup, frozen ones too (cgroup.kill, Linux 5.14). A cgroup that is gone is killed. They are
 * dead when cgroup_populated() says no. */
int cgroup_kill(int fd, struct error *err);

/* Is any process in or below the cgroup, zombies not counted? One that is gone holds none. */
int cgroup_populated(int fd, bool *ret, struct error *err);

/* Waits until no process is in or below the cgroup, MS milliseconds at most. -ETIMEDOUT then. */
int cgroup_wait_empty(int fd, unsigned ms);

/* Removes the cgroups below PATH, then the last OURS components of PATH; what is gone already is success, and a parent that others use is
 * left to them. Waits up to 2 s for processes that are dying; kills none. With OURS 0 nothing is touched. */
int cgroup_remove(const char *path, unsigned ours, struct error *err);
