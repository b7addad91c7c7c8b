/* A cgroup below the container's that the container may manage: crun's run.oci.delegate-cgroup. */
#pragma once

#include <sys/types.h>

#include "base/error.h"
#include "spec/plan.h"

/* Makes BELOW in the cgroup FD, gives it to root of the container where that has a user namespace (ids), and moves PID there. No limit is
 * written to it; with the container it goes. */
int cgroup_delegate(int fd, const char *below, const struct plan_ids *ids, pid_t pid, struct error *err);
