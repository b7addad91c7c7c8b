/* A length of time on the command line. */
#pragma once

#include <stdint.h>

/* What Go's time.ParseDuration reads ("5s", "100ms", "1m30s", "1.5s"), and a bare number, which is seconds; more than nothing and at most
 * MAX_S seconds, which is at most 1,000,000,000. 0 or -EINVAL. */
int duration_parse(const char *text, uint64_t max_s, uint64_t *ret_us);
