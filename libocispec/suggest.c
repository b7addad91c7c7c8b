#include "libocispec/suggest.h"

#include "libocispec/table.h"

#include <string.h>

#define LONGEST 64

static size_t min3(size_t a, size_t b, size_t c) {
        size_t least = a < b ? a : b;

        return least < c ? least : c;
}

static char folded(char c) {
        return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c == '-' ? '_' : c;
}

/* Letters to insert, delete or replace to make B of A (Levenshtein), where case, - and _ do not count. */
static size_t distance(const char *a, size_t na, const char *b, size_t nb) {
        size_t row[LONGEST + 1];

        for (size_t k = 0; k <= nb; k++)
                row[k] = k;
        for (size_t i = 1; i <= na; i++) {
                size_t diagonal = row[0];

                row[0] = i;
                for (size_t k = 1; k <= nb; k++) {
                        size_t above = row[k];

                        row[k] = min3(above + 1, row[k - 1] + 1, diagonal + (folded(a[i - 1]) != folded(b[k - 1])));
                        diagonal = above;
                }
        }
        return row[nb];
}

/* WORD if it is nearer to TEXT than *BEST says, else BEFORE. A third of the letters may differ, more is no slip of the pen. */
static const char *nearer(const char *text, size_t n, const char *word, const char *before, size_t *best) {
        size_t size = strlen(word), d;

        if (n == 0 || n > LONGEST || size > LONGEST)
                return before;
        d = distance(text, n, word, size);
        if (d >= *best || d > (n + 2) / 3)
                return before;
        *best = d;
        return word;
}

const char *spec_suggest_member(const struct spec_type *type, const char *text, size_t n) {
        const char *nearest = NULL;
        size_t best = LONGEST;

        for (unsigned i = 0; i < type->n; i++)
                nearest = nearer(text, n, spec_name(type->module, &type->module->fields[type->first + i]), nearest, &best);
        return nearest;
}

const char *spec_suggest_word(const struct spec_enum *e, const char *text, size_t n) {
        const char *nearest = NULL, *word = e->words;
        size_t best = LONGEST;

        for (unsigned i = 0; i < e->n; i++, word += strlen(word) + 1)
                nearest = nearer(text, n, word, nearest, &best);
        return nearest;
}
