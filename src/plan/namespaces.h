#pragma once

#include "plan/compilation.h"

/* linux.namespaces, and what lives in the UTS one: hostname and domainname. */
int namespaces_compile(struct compilation *c);

/* The host name or domain name of a container that has a UTS namespace: *RET is NAME, unchanged for one that is empty. */
int namespaces_compile_name(struct compilation *c, const char *field, const char *name, const char **ret);

/* "network" for CLONE_NEWNET, as config.json calls it; NULL for another number. */
const char *namespace_name(uint64_t flag);
