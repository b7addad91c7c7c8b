/* The processes of a cgroup, as pids of the reader's pid namespace. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Calls VISIT for every process in and below PATH (absolute, on the host). What is made or ends meanwhile may be visited or not. A cgroup
 * that is gone has none. 0 or a negative errno. */
int cgroup_processes(const char *path, void (*visit)(pid_t pid, void *data), void *data);

/* Looks below the mount for a cgroup that holds processes and is called NAME, or "PREFIX-NAME" or "PREFIX-NAME.scope" as engines call
 * those of their containers. */
bool cgroup_find_populated(const char *name, char path[PATH_MAX]);
