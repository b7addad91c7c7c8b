#include "cmd/duration.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/str.h"

/* Longer names before their beginnings. */
static const struct {
        const char *name;
        uint64_t ns;
} units[] = {
        { "ns", 1 },
        { "us", 1000 },
        { "µs", 1000 },
        { "ms", 1000000 },
        { "s", UINT64_C(1000000000) },
        { "m", UINT64_C(60000000000) },
        { "h", UINT64_C(3600000000000) },
};

static bool is_digit(char c) {
        return c >= '0' && c <= '9';
}

/* The unit at *AT; a number that ends the text and is all of it has none and means seconds. */
static int read_unit(const char **at, bool bare_allowed, uint64_t *ret_ns) {
        if (!**at && bare_allowed) {
                *ret_ns = UINT64_C(1000000000);
                return 0;
        }
        for (size_t i = 0; i < ELEMENTSOF(units); i++) {
                const char *rest = str_after(*at, units[i].name);

                if (rest && (!*rest || is_digit(*rest) || *rest == '.')) {
                        *at = rest;
                        *ret_ns = units[i].ns;
                        return 0;
                }
        }
        return -EINVAL;
}

int duration_parse(const char *text, uint64_t max_s, uint64_t *ret_us) {
        const uint64_t max_ns = max_s * 1000000000;
        uint64_t total = 0;

        for (const char *at = text; at == text || *at;) {
                uint64_t whole = 0, fraction = 0, scale = 1, unit;
                const char *begin = at;
                size_t digits = 0;

                for (; is_digit(*at); at++, digits++)
                        if ((whole = 10 * whole + (uint64_t)(*at - '0')) > max_ns)
                                return -EINVAL;
                if (*at == '.')
                        for (at++; is_digit(*at); at++, digits++)
                                if (scale < 1000000) { /* the rest is below a microsecond, or nearly */
                                        fraction = 10 * fraction + (uint64_t)(*at - '0');
                                        scale *= 10;
                                }
                if (digits == 0 || read_unit(&at, begin == text, &unit) < 0 || whole > max_ns / unit)
                        return -EINVAL;
                total += whole * unit + fraction * (unit / scale) + fraction * (unit % scale) / scale;
                if (total > max_ns)
                        return -EINVAL;
        }
        if (total < 1000)
                return -EINVAL;
        *ret_us = total / 1000;
        return 0;
}
