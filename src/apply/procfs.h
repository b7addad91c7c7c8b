/* Writing to files of /proc without being led astray: a bind, a tmpfs or a symlink on /proc/self/attr or /proc/sys would turn a label or a
 * sysctl into a write to something else (CVE-2019-16884, CVE-2025-52881). */
#pragma once

#include "base/error.h"

/* The root of the procfs at /proc: O_PATH, close-on-exec, verified to be procfs and its root. Taken before the root changes it is the
 * host's, and goes on working, in the container's namespaces, for as long as it is open: "self" is whoever asks. */
int procfs_open(int *ret_proc, struct error *err);

/* A procfs of this process's PID namespace that is mounted nowhere, so that nothing can be mounted over its parts. */
int procfs_open_detached(int *ret_proc);

/* One write(2) of TEXT to PATH (relative: "self/attr/exec", "sys/net/…") in PROC; no mount point and no magic link is crossed.
 * 0 or a negative errno; -EXDEV: something is mounted on the way. */
int procfs_write(int proc, const char *path, const char *text);
