/* How engines get to know a process that they did not see made: its host's pid in a file, and a pidfd over a socket. */
#pragma once

#include <sys/types.h>

#include "base/error.h"

/* Writes PID as text, without a newline, as runc and crun do. path NULL: nothing to do. A relative path is the caller's. */
int pid_file_write(const char *path, pid_t pid, struct error *err);

/* Sends PIDFD to whoever listens at PATH (fd_send.h), with ROLE as runc has it: "standard" for a container's first process, "setns" for one
 * of exec. path NULL: nothing to do. where: the option or annotation that named it. */
int pidfd_send(const char *path, const char *where, const char *role, int pidfd, struct error *err);
