#pragma once

#include "plan/compilation.h"

/* No kernel has more nodes (NODES_SHIFT is at most 10, arch/x86/Kconfig). */
enum { MEMORY_NODE_MAX = 1023 };

/* linux.memoryPolicy, where it is there: what set_mempolicy(2) would refuse on any host is refused here. */
int memory_policy_compile(struct compilation *c);

/* "MPOL_BIND" for a mode, with flags or without; "MPOL_F_STATIC_NODES" for one flag; or NULL. */
const char *memory_policy_name(uint32_t mode);
const char *memory_policy_flag_name(uint32_t flag);

/* The first kernel that has this mode with these flags; 0.0: every one that we run on. */
void memory_policy_since(uint32_t mode, unsigned *ret_major, unsigned *ret_minor);
