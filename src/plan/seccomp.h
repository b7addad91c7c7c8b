#pragma once

#include "plan/compilation.h"

/* linux.seccomp. The rules themselves are read by filter_build(). */
int seccomp_compile(struct compilation *c);
