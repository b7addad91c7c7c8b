/* A cgroup that the container may manage: its own, or one below it (crun's run.oci.delegate-cgroup). cgroup-v2.rst, "Delegation". */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "spec/plan.h"

/* Makes BELOW in the cgroup FD, gives it to root of the container where that has a user namespace (ids), and moves PID there. No limit is
 * written to it; with the container it goes. */
int cgroup_delegate(int fd, const char *below, const struct plan_ids *ids, pid_t pid, struct error *err);

/* Gives the cgroup FD and those of its files that the kernel lists for it (/sys/kernel/cgroup/delegate) to UID and GID, ids on the host;
 * UINT32_MAX: stays. The limits are not among them: they are the parent's. 0 or a negative errno. */
int cgroup_give(int fd, uint32_t uid, uint32_t gid);
