/* Users of the host as its passwd(5) has them; who is kept elsewhere (NSS) is not known. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

struct passwd_entry {
        uint32_t uid, gid;
        const char *home;
};

/* The user called NAME, or, where that is NULL, UID's first. False: there is none. The result lives in ARENA. */
bool passwd_find(struct arena *arena, const char *name, uint32_t uid, struct passwd_entry *ret);
/* The same in TEXT, which is such a file. Pure. */
bool passwd_find_in(struct arena *arena, const char *text, const char *name, uint32_t uid, struct passwd_entry *ret);
