#pragma once

#include "plan/compilation.h"

/* hooks, of all six kinds. */
int hooks_compile(struct compilation *c);
