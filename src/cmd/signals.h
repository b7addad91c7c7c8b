/* Signal names as people and engines write them. */
#pragma once

#include "base/error.h"

/* TEXT: a number from 0 to 64, or a name in any case, with or without SIG: TERM, SIGKILL, RTMIN+3, RTMAX-1 (signal(7)). */
int signal_parse(const char *text, int *ret, struct error *err);
