/* What a monitor may still do: look at processes and at the sizes of files, stop and kill. */
#pragma once

#include "base/error.h"

/* For a process of its own. cgroup: the directory that it writes to, or -1. From here on another system call ends it. */
int lockdown(int cgroup, struct error *err);
