#include "base/time.h"

#include <stdio.h>

static uint64_t now(clockid_t clock, uint64_t per_second) {
        struct timespec t;

        clock_gettime(clock, &t);
        return (uint64_t)t.tv_sec * per_second + (uint64_t)t.tv_nsec / (1000000000u / per_second);
}

uint64_t time_monotonic_us(void) {
        return now(CLOCK_MONOTONIC, 1000000u);
}

uint64_t time_realtime_ns(void) {
        return now(CLOCK_REALTIME, 1000000000u);
}

struct time_text time_rfc3339(uint64_t realtime_ns) {
        time_t seconds = (time_t)(realtime_ns / 1000000000u);
        struct time_text t;
        struct tm tm;
        size_t n;

        gmtime_r(&seconds, &tm);
        n = strftime(t.text, sizeof t.text, "%Y-%m-%dT%H:%M:%S", &tm);
        snprintf(t.text + n, sizeof t.text - n, ".%09uZ", (unsigned)(realtime_ns % 1000000000u));
        return t;
}
