#include "apply/rdt_schema.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

/* A piece of a text. */
struct piece {
        const char *at;
        size_t n;
};

static struct piece trim(struct piece p) {
        while (p.n && isspace((unsigned char)*p.at))
                p.at++, p.n--;
        while (p.n && isspace((unsigned char)p.at[p.n - 1]))
                p.n--;
        return p;
}

/* Takes what comes before the next C off REST; false when nothing is left. */
static bool next(struct piece *rest, char c, struct piece *ret) {
        const char *end;
        size_t n;

        if (!rest->at)
                return false;
        end = memchr(rest->at, c, rest->n);
        n = end ? (size_t)(end - rest->at) : rest->n;
        *ret = trim((struct piece){ rest->at, n });
        *rest = end ? (struct piece){ end + 1, rest->n - n - 1 } : (struct piece){ 0 };
        return true;
}

static struct piece digits(struct piece p) {
        if (p.n > 2 && p.at[0] == '0' && (p.at[1] | 0x20) == 'x')
                p.at += 2, p.n -= 2;
        while (p.n > 1 && *p.at == '0')
                p.at++, p.n--;
        return p;
}

static bool decimal(struct piece p, uint64_t *ret) {
        *ret = 0;
        for (size_t i = 0; i < p.n; i++) {
                if (!isdigit((unsigned char)p.at[i]) || *ret > UINT32_MAX)
                        return false;
                *ret = 10 * *ret + (uint64_t)(p.at[i] - '0');
        }
        return p.n > 0;
}

static uint64_t round_up(uint64_t number, uint64_t step) {
        return step > 1 ? (number + step - 1) / step * step : number;
}

static bool same_number(struct piece a, struct piece b, uint64_t step) {
        uint64_t x, y;

        a = digits(a);
        b = digits(b);
        if (a.n == b.n && strncasecmp(a.at, b.at, a.n) == 0)
                return true;
        return step > 1 && decimal(a, &x) && decimal(b, &y) && round_up(x, step) == round_up(y, step);
}

static bool same_text(struct piece a, struct piece b) {
        return a.n == b.n && memcmp(a.at, b.at, a.n) == 0;
}

/* The value of DOMAIN in the list "0=…;1=…". */
static bool find_domain(struct piece list, struct piece domain, struct piece *ret) {
        struct piece pair, id;

        while (next(&list, ';', &pair))
                if (next(&pair, '=', &id) && pair.at && same_number(id, domain, 1)) {
                        *ret = trim(pair);
                        return true;
                }
        return false;
}

static bool find_resource(const char *existing, struct piece name, struct piece *ret) {
        struct piece rest = { existing, strlen(existing) }, line, found;

        while (next(&rest, '\n', &line))
                if (next(&line, ':', &found) && line.at && same_text(found, name)) {
                        *ret = line;
                        return true;
                }
        return false;
}

bool rdt_schema_holds(const char *existing, const char *asked, uint64_t step) {
        struct piece rest = { asked, strlen(asked) }, name, there, pair, id, value;

        if (!next(&rest, ':', &name) || !rest.at || !find_resource(existing, name, &there))
                return false;
        while (next(&rest, ';', &pair)) {
                if (pair.n == 0)
                        continue;
                if (!next(&pair, '=', &id) || !pair.at || !find_domain(there, id, &value) ||
                        !same_number(trim(pair), value, same_text(name, (struct piece){ "MB", 2 }) ? step : 1))
                        return false;
        }
        return true;
}
