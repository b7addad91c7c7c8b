#pragma once

#include "plan/compilation.h"

/* compile_process() and compile_process_within() of compile.h are in process.c. This is what compile() itself calls. */
int process_compile(struct compilation *c);
