#pragma once

#include "plan/compilation.h"

/* mounts, in order. linux.mountLabel is for apply/, which puts it to the options of new file systems. */
int mounts_compile(struct compilation *c);
