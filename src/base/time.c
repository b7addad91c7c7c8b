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

static unsigned days_of_year(unsigned year) {
        return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 366 : 365;
}

static unsigned days_of_month(unsigned year, unsigned month) {
        static const uint8_t days[12] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };

        return days[month] + (month == 1 && days_of_year(year) == 366);
}

/* Not by gmtime(3), which looks for the time zone first, a file, though UTC has none. */
struct time_text time_rfc3339(uint64_t realtime_ns) {
        uint64_t seconds = realtime_ns / 1000000000u;
        unsigned days = (unsigned)(seconds / 86400), rest = (unsigned)(seconds % 86400), year = 1970, month = 0;
        struct time_text t;

        for (; days >= days_of_year(year); year++)
                days -= days_of_year(year);
        for (; days >= days_of_month(year, month); month++)
                days -= days_of_month(year, month);
        snprintf(t.text, sizeof t.text, "%04u-%02u-%02uT%02u:%02u:%02u.%09uZ", year, month + 1, days + 1, rest / 3600, rest / 60 % 60,
                rest % 60, (unsigned)(realtime_ns % 1000000000u));
        return t;
}
