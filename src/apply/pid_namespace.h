/* The processes of a pid namespace, as pids of the reader's own: what there is to tell a container's processes by without a cgroup. */
#pragma once

#include <sys/types.h>

/* Calls VISIT for every process in the pid namespace of process INIT (PIDFD proves it to be that one still), or in one below it, that the caller may look at (proc(5),
 * /proc/PID/ns: the same user, or the owner of the user namespace that it lives in). What is made or ends meanwhile may be visited or
 * not. 0 or a negative errno. */
int pid_namespace_processes(pid_t init, int pidfd, void (*visit)(pid_t pid, void *data), void *data);
