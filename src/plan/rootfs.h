#pragma once

#include "plan/compilation.h"

/* root and linux.rootfsPropagation. */
int rootfs_compile(struct compilation *c);
