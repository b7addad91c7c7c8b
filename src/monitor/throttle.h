/* How long processes have to stand still so that they use no more CPU than a share of it. Pure: an account that time fills and use empties. */
#pragma once

#include <stdint.h>

struct throttle {
        uint64_t rate;  /* microseconds of CPU a second */
        int64_t credit; /* microseconds of CPU */
};

/* The rate for cpu_percent, 100 of which are one logical CPU. */
uint64_t throttle_rate(double percent);

/* ELAPSED microseconds have passed, in which USED microseconds of CPU were used. Returns for how many microseconds nothing may run now. Unused
 * time is kept for a tenth of a second (cpu.max has the same period). */
uint64_t throttle_account(struct throttle *t, uint64_t elapsed, uint64_t used);
