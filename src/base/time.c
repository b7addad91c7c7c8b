#include "base/time.h"

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

/* VALUE in N digits, which end before END. */
static void put(char *end, unsigned n, unsigned value) {
        for (; n; n--, value /= 10)
                *--end = (char)('0' + value % 10);
}

/* Not by gmtime(3), which looks for the time zone first, a file, though UTC has none; and the broker tells the time of every connection. */
struct time_text time_rfc3339(uint64_t realtime_ns) {
        uint64_t seconds = realtime_ns / 1000000000u;
        unsigned days = (unsigned)(seconds / 86400), rest = (unsigned)(seconds % 86400), year = 1970, month = 0;
        struct time_text t = { "0000-00-00T00:00:00.000000000Z" };

        for (; days >= days_of_year(year); year++)
                days -= days_of_year(year);
        for (; days >= days_of_month(year, month); month++)
                days -= days_of_month(year, month);
        put(t.text + 4, 4, year);
        put(t.text + 7, 2, month + 1);
        put(t.text + 10, 2, days + 1);
        put(t.text + 13, 2, rest / 3600);
        put(t.text + 16, 2, rest / 60 % 60);
        put(t.text + 19, 2, rest % 60);
        put(t.text + 29, 9, (unsigned)(realtime_ns % 1000000000u));
        return t;
}
