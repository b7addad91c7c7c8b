/* A sandbox that is lost: it used more than a monitor lets it, or something of it could not be ended. It takes no more commands, and is only
 * good for delete. The monitor, which is locked down, says so in a file that was made for it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "life/state.h"

struct loss {
        char limit[16]; /* which: "cpu", "memory", "disk" or "process_count", as in result.json; empty: none of these */
        uint64_t used, allowed;
};

/* Makes that file in CONTAINER's directory. RET: for writing; empty, so nothing is lost. */
int lost_open(const struct container *container, int *ret, struct error *err);

/* Is it lost? RET says how, and may be NULL. */
bool lost_is(const struct container *container, struct loss *ret);

/* The error for who wants something of a lost sandbox, CODE_LOST. */
int lost_fail(const struct loss *loss, struct error *err);

/* The same mark, from the runtime: DISK bytes of ALLOWED. */
void lost_mark_disk(const struct container *container, uint64_t used, uint64_t allowed);
