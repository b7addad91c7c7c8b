#pragma once

#include "plan/compilation.h"

/* linux.namespaces, and what lives in the UTS one: hostname and domainname. */
int namespaces_compile(struct compilation *c);

/* "network" for CLONE_NEWNET, as config.json calls it; NULL for another number. */
const char *namespace_name(uint64_t flag);
