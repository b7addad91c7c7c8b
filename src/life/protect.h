/* Our own program file, kept from the containers we start (CVE-2019-5736). */
#pragma once

#include "base/error.h"

/* A container whose root is the host's could write this program's file through /proc/PID/exe while we enter it, and the host would
 * run the result next time. Where the file is seen through a read-only mount nothing can (mount attributes hold for /proc/PID/exe
 * too), and there is nothing to do: the package mounts it so. Otherwise this replaces the process by itself, executed through a
 * detached read-only mount of the same file, or a sealed copy for an ordinary user who owns the file; that costs an exec. Call it before
 * anything was acquired. */
int protect_binary(char *const *argv, struct error *err);
