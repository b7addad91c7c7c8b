#pragma once

#include "plan/compilation.h"

/* linux.sysctl: only what belongs to a namespace that the container has, never the host's. */
int sysctl_compile(struct compilation *c);
