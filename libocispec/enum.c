#include "libocispec/table.h"

#include <string.h>

const char *spec_enum_name(const struct spec_enum *e, int value) {
        const char *word = e->words;

        if (value < 1 || (unsigned)value > e->n)
                return NULL;
        while (--value > 0)
                word += strlen(word) + 1;
        return word;
}

int spec_enum_find(const struct spec_enum *e, const char *text, size_t n) {
        const char *word = e->words;

        for (unsigned i = 1; i <= e->n; i++) {
                size_t size = strlen(word);

                if (size == n && memcmp(word, text, n) == 0)
                        return (int)i;
                word += size + 1;
        }
        return 0;
}
