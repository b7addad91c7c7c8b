/* Processes from one cgroup to another. Unlike a process that is born in a cgroup, one that moves there is not refused for the limits of its
 * controllers (cgroup-v2.rst, "pids"), so this is for keeping a number what it was, never for making it larger. */
#pragma once

#include <sys/types.h>

/* The calling process's own, as an O_PATH descriptor, and a process into that of FD. 0 or a negative errno. */
int cgroup_open_current(int *ret_fd);
int cgroup_move(int fd, pid_t pid);
