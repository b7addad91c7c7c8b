/* Landlock (landlock(7)): what a process may do to files and ports from here on, whoever it is. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct landlock_allowed {
        const char *const *read; /* files below these may be read, where they exist … */
        size_t n_read;
        const char *const *execute; /* … and these be executed too, which reading does not include */
        size_t n_execute;
        const uint16_t *connect; /* TCP ports */
        size_t n_connect;
        bool signals; /* to processes outside */
};

/* After this nothing but what is ALLOWED: no file is written (but /dev/null, where anything may be read), no TCP port bound, no abstract Unix
 * socket of others connected to: as far as this kernel knows such rules. That an address is a vetted one Landlock cannot say.
 * no_new_privs is set. Returns the kernel's ABI version, or a negative errno: -ENOSYS or -EOPNOTSUPP where there is no Landlock. */
int landlock_only(const struct landlock_allowed *allowed);
