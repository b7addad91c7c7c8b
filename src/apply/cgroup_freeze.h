/* All processes of a cgroup stopped and let go again (cgroup-v2.rst, "cgroup.freeze"): pause and resume. */
#pragma once

#include <stdbool.h>

#include "base/error.h"

/* Freezes what is in and below PATH (absolute, on the host), or thaws it, and waits up to 2 s until the kernel says that it is so. A
 * freeze that takes longer is taken back: no container is left half stopped. */
int cgroup_freeze(const char *path, bool freeze, struct error *err);

/* Does everything in and below PATH stand still? One read; a cgroup that is gone does not. */
bool cgroup_frozen(const char *path);
