#pragma once

#include "plan/compilation.h"

/* linux.cgroupsPath and linux.resources. */
int cgroup_compile(struct compilation *c);
