/* --pid-file: where engines look for the host's pid of a process they did not see made. */
#pragma once

#include <sys/types.h>

#include "base/error.h"

/* Writes PID as text, without a newline, as runc and crun do. path NULL: nothing to do. A relative path is the caller's. */
int pid_file_write(const char *path, pid_t pid, struct error *err);
