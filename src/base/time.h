/* Clocks and the one text form of a time that engines parse. */
#pragma once

#include <stdint.h>
#include <time.h>

uint64_t time_monotonic_us(void);
uint64_t time_realtime_ns(void);

/* RFC 3339 with nanoseconds in UTC, "2026-01-31T23:59:59.123456789Z" (Go's time.RFC3339Nano reads it). */
struct time_text { char text[40]; };
struct time_text time_rfc3339(uint64_t realtime_ns);
