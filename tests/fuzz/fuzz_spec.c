/* libFuzzer: whatever the bytes are, the decoder neither crashes nor reads beyond them; and what it takes keeps its meaning: its
 * canonical form decodes, to a value with that same form. The first line names the schema; where it is none's name, the first byte
 * chooses one. */
#include "spec/roots.h"

#include "libocispec/table.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool ok, const char *what, const struct error *err) {
        if (ok)
                return;
        fprintf(stderr, "%s: %s: %s\n", what, err->where, err->text);
        abort();
}

/* The schema that the input is for. *DATA moves on to the document. */
static const struct spec_type *choose(const char **data, size_t *size) {
        const char *newline = memchr(*data, '\n', *size);
        size_t n = newline ? (size_t)(newline - *data) : 0, number = (unsigned char)**data % ELEMENTSOF(spec_roots), used = 1;

        for (size_t i = 0; i < ELEMENTSOF(spec_roots); i++) {
                if (strlen(spec_roots[i].name) == n && memcmp(spec_roots[i].name, *data, n) == 0) {
                        number = i;
                        used = n + 1;
                }
        }
        *data += used;
        *size -= used;
        return spec_roots[number].type;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_str_ struct str first = { 0 }, second = { 0 }, pretty = { 0 };
        _cleanup_arena_ struct arena arena = { 0 };
        const char *text = (const char *)data;
        const struct spec_type *type;
        struct error err = { 0 };
        void *value;

        if (size == 0)
                return 0;
        type = choose(&text, &size);
        value = arena_alloc(&arena, type->size);
        if (spec_decode(&arena, type, "fuzz", text, size, value, &err) < 0) {
                expect(err.code == CODE_CONFIG_INVALID && err.errnum > 0 && err.text[0], "an error says what is wrong", &err);
                return 0;
        }
        expect(spec_encode(type, value, &first, 0, &err) == 0, "what was decoded can be encoded", &err);
        expect(spec_encode(type, value, &pretty, SPEC_PRETTY, &err) == 0, "and prettily", &err);
        expect(spec_decode(&arena, type, "again", first.text, first.size, value, &err) == 0, "and decoded again", &err);
        expect(spec_encode(type, value, &second, 0, &err) == 0, "and encoded again", &err);
        expect(first.size == second.size && memcmp(first.text, second.text, first.size) == 0, "and gives the same bytes", &err);

        second.size = 0;
        expect(spec_decode(&arena, type, "pretty", pretty.text, pretty.size, value, &err) == 0, "the pretty form can be decoded", &err);
        expect(spec_encode(type, value, &second, 0, &err) == 0, "and encoded", &err);
        expect(first.size == second.size && memcmp(first.text, second.text, first.size) == 0, "and means the same", &err);
        return 0;
}
