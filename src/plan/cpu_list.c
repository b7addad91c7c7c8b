#include "plan/cpu_list.h"

/* Digits at *AT, which moves behind them; false where there are none. A number that does not fit is one that is too large. */
static bool read_number(const char **at, uint64_t *ret) {
        const char *begin = *at;
        uint64_t number = 0;

        for (; **at >= '0' && **at <= '9'; ++*at)
                if (number <= UINT32_MAX)
                        number = 10 * number + (uint64_t)(**at - '0');
        *ret = number;
        return *at > begin;
}

static bool read_range(const char **at, uint64_t *ret_first, uint64_t *ret_last) {
        if (!read_number(at, ret_first))
                return false;
        *ret_last = *ret_first;
        if (**at != '-')
                return true;
        ++*at;
        return read_number(at, ret_last);
}

int cpu_list_parse(
        struct arena *arena, const char *text, uint32_t max, const char *field, struct plan_range **ret, size_t *ret_n, struct error *err) {
        struct plan_range *ranges;
        size_t n = 0, room = 1;

        if (!text || !*text) {
                *ret = NULL;
                *ret_n = 0;
                return 0;
        }
        for (const char *at = text; *at; at++)
                room += *at == ',';
        ranges = arena_array(arena, struct plan_range, room);
        for (const char *at = text;; at++) {
                uint64_t first, last;

                if (!read_range(&at, &first, &last) || (*at && *at != ','))
                        return INVALID(err, field, "expected a list such as 0-3,7, found \"%s\"", text);
                if (first > max || last > max)
                        return INVALID(err, field, "expected numbers up to %u, found \"%s\"", max, text);
                if (first > last)
                        return INVALID(err, field, "the range %u-%u of \"%s\" runs backwards", (unsigned)first, (unsigned)last, text);
                ranges[n++] = (struct plan_range){ .first = (uint32_t)first, .last = (uint32_t)last };
                if (!*at)
                        break;
        }
        *ret = ranges;
        *ret_n = n;
        return 0;
}
