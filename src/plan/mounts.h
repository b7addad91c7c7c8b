#pragma once

#include "plan/compilation.h"

/* mounts, in order, with linux.mountLabel. */
int mounts_compile(struct compilation *c);
