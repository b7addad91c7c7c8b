#pragma once

#include <stdint.h>

/* cpu.weight (1 to 10000) for cgroup v1's cpu.shares (2 to 262144), by the formula that crun 1.23 and runc 1.3 agreed on: a quadratic
 * in log2(shares) through 2→1, 1024→100 and 262144→10000. 0 for 0, "not set". */
uint64_t cpu_weight(uint64_t shares);
