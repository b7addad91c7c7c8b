/* The names of capabilities(7), and the sets a process shall have. */
#pragma once

#include "plan/compilation.h"

#define CAPABILITY_COUNT 41u

/* 5 for "CAP_KILL", in any case of letters as libcap reads it; -1 for a name that is not in the table. */
int capability_number(const char *name);
/* "CAP_KILL" for 5; NULL for a number that is not in the table. */
const char *capability_name(unsigned number);

/* Every bit from 0 to LAST (cap_last_cap). */
static inline uint64_t capability_all(unsigned last) {
        return last >= 63 ? UINT64_MAX : (UINT64_C(1) << (last + 1)) - 1;
}

/* The five sets of config.json; CAPABILITIES NULL is no capability at all: a process that is given none must not keep the runtime's
 * (youki issue 3554). What this kernel does not know, and what the kernel's own rules forbid, is left out with a warning. */
struct plan_capabilities *capabilities_compile(struct arena *arena, const struct oci_capabilities *capabilities, unsigned last,
                                               const char *field, struct warnings *warnings);

/* Takes out what is not in HELD, the set that the runtime has where no user namespace gives new ones. */
void capabilities_limit(struct arena *arena, struct plan_capabilities *capabilities, uint64_t held, const char *field,
                        struct warnings *warnings);
