#pragma once

#include "plan/compilation.h"

/* linux.maskedPaths and readonlyPaths. */
int masks_compile(struct compilation *c);
