/* A signal for every process of a cgroup: kill --all. */
#pragma once

#include "base/error.h"

/* Sends SIGNAL to all in and below PATH (absolute, on the host). SIGKILL goes through cgroup.kill, which misses nobody; for the others a
 * process that forks meanwhile may have a child that gets none. A cgroup that is gone, or empty, is success. */
int cgroup_signal(const char *path, int signal, struct error *err);
