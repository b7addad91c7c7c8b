/* Messages of the decoder. Nothing here runs unless a document is wrong. */
#include "libocispec/walk.h"

#include "libocispec/scan.h"
#include "libocispec/suggest.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <yajl/yajl_parse.h>

size_t walk_offset(const struct walk *w) {
        return w->at_end ? w->size : yajl_get_bytes_consumed(w->parser);
}

/* A piece of a message; what does not fit is cut. */
struct piece {
        char text[256];
        size_t n;
};

__attribute__((format(printf, 2, 3))) static void put(struct piece *piece, const char *format, ...) {
        va_list ap;
        int n;

        va_start(ap, format);
        n = vsnprintf(piece->text + piece->n, sizeof piece->text - piece->n, format, ap);
        va_end(ap);
        if (n > 0)
                piece->n = piece->n + (size_t)n < sizeof piece->text ? piece->n + (size_t)n : sizeof piece->text - 1;
}

/* At most MOST bytes of TEXT, whole characters only, with a sign when something was left out. */
static void put_start(struct piece *piece, const char *text, size_t n, size_t most) {
        size_t size = 0;

        while (size < n) {
                size_t width = spec_utf8_size(text + size, n - size);

                if (width == 0 || size + width > most)
                        break;
                size += width;
        }
        put(piece, "%.*s%s", (int)size, text, size < n ? "…" : "");
}

/* Where the walk is: "mounts[3].options[1]", "annotations[\"k\"]". */
static void put_path(const struct walk *w, struct piece *path) {
        for (int i = 0; i < w->levels; i++) {
                const struct frame *f = &w->frames[i];

                if (f->form == SPEC_ARRAY) {
                        put(path, "[%zu]", f->n);
                } else if (f->form == SPEC_MAP && f->key) {
                        put(path, "[\"");
                        put_start(path, f->key, strlen(f->key), 80);
                        put(path, "\"]");
                } else if (f->form == SPEC_ONE && f->field) {
                        put(path, "%s%s", path->n ? "." : "", spec_name(f->module, f->field));
                }
        }
        if (w->ignoring) {
                put(path, "%s", path->n ? "." : "");
                put_start(path, w->unknown, strlen(w->unknown), sizeof w->unknown);
        }
}

static size_t line_of(const struct walk *w, size_t offset) {
        size_t line = 1;

        for (size_t i = 0; i < offset && i < w->size; i++)
                line += w->text[i] == '\n';
        return line;
}

/* Bytes of its line up to OFFSET. */
static size_t column_of(const struct walk *w, size_t offset) {
        size_t n = 0;

        while (n < offset && offset <= w->size && w->text[offset - n - 1] != '\n')
                n++;
        return n;
}

static int stop(struct walk *w, size_t offset, int errnum, const char *text) {
        struct piece path = { 0 };
        size_t line = line_of(w, offset);

        put_path(w, &path);
        if (!w->what)
                w->result = fail(w->err, CODE_CONFIG_INVALID, errnum, path.text, "%s", text);
        else if (w->columns)
                w->result = fail(
                        w->err, CODE_CONFIG_INVALID, errnum, path.text, "%s:%zu:%zu: %s", w->what, line, column_of(w, offset), text);
        else
                w->result = fail(w->err, CODE_CONFIG_INVALID, errnum, path.text, "%s:%zu: %s", w->what, line, text);
        w->err->line = (uint16_t)(line < UINT16_MAX ? line : UINT16_MAX);
        return 0;
}

int report(struct walk *w, size_t offset, const char *text, ...) {
        char line[300];
        va_list ap;

        va_start(ap, text);
        vsnprintf(line, sizeof line, text, ap);
        va_end(ap);
        return stop(w, offset, EINVAL, line);
}

static void put_words(struct piece *piece, const struct spec_enum *e) {
        const char *word = e->words;

        put(piece, "one of ");
        for (unsigned i = 0; i < e->n; i++, word += strlen(word) + 1) {
                if (piece->n + strlen(word) > 150) {
                        put(piece, ", … (%u words)", e->n);
                        return;
                }
                put(piece, "%s%s", i ? ", " : "", word);
        }
}

/* One element of FIELD. */
static void put_expected(struct piece *piece, const struct spec_module *module, const struct spec_field *field) {
        const struct spec_range *range = &module->ranges[field->range];

        switch ((enum spec_kind)field->kind) {
        case SPEC_STRING:
                put(piece, "a string");
                break;
        case SPEC_BOOLEAN:
                put(piece, "true or false");
                break;
        case SPEC_INTEGER:
                put(piece, "an integer from %lld to %llu", (long long)range->min, (unsigned long long)range->max);
                break;
        case SPEC_NUMBER:
                put(piece, "a number");
                if (range->min || range->max)
                        put(piece, " %s %lld %s %llu", field->flags & SPEC_ABOVE_MIN ? "above" : "from", (long long)range->min,
                                field->flags & SPEC_ABOVE_MIN ? "up to" : "to", (unsigned long long)range->max);
                break;
        case SPEC_ENUM:
                put_words(piece, module->enums[field->type]);
                break;
        case SPEC_OBJECT:
                put(piece, "an object");
                break;
        }
}

static void put_expected_many(struct piece *piece, const struct spec_field *field) {
        /* clang-format off */
        static const char *const plural[] = {
                [SPEC_STRING] = "strings", [SPEC_BOOLEAN] = "booleans", [SPEC_INTEGER] = "integers",
                [SPEC_NUMBER] = "numbers", [SPEC_ENUM] = "strings", [SPEC_OBJECT] = "objects",
        };
        /* clang-format on */

        put(piece, "%s of %s", field->form == SPEC_MAP ? "an object" : "an array", plural[field->kind]);
}

/* An environment variable's value may be a secret, and messages end up in logs: only its name is shown. */
static void put_string(struct piece *piece, const struct spec_field *field, const struct found *found) {
        bool secret = field && field->kind == SPEC_STRING && field->validator == SPEC_VALID_ENV;
        const char *equals = secret ? memchr(found->text, '=', found->size) : NULL;

        put(piece, "the string \"");
        if (equals) {
                put_start(piece, found->text, (size_t)(equals - found->text) + 1, 48);
                put(piece, "…");
        } else {
                put_start(piece, found->text, found->size, 48);
        }
        put(piece, "\"");
        if (found->size > 1000)
                put(piece, " of %zu bytes", found->size);
}

static void put_found(struct piece *piece, const struct spec_field *field, const struct found *found) {
        switch (found->kind) {
        case FOUND_NULL:
                put(piece, "null");
                break;
        case FOUND_BOOLEAN:
                put(piece, found->truth ? "true" : "false");
                break;
        case FOUND_NUMBER:
                put(piece, "the number ");
                put_start(piece, found->text, found->size, 40);
                break;
        case FOUND_STRING:
                put_string(piece, field, found);
                break;
        case FOUND_OBJECT:
                put(piece, "an object");
                break;
        case FOUND_ARRAY:
                put(piece, "an array");
                break;
        }
}

static int report_found(struct walk *w, int errnum, const char *expected, const struct spec_field *field, const struct found *found) {
        struct piece line = { 0 };

        put(&line, "expected %s, found ", expected);
        put_found(&line, field, found);
        if (field && field->kind == SPEC_ENUM && found->kind == FOUND_STRING) {
                const struct frame *f = &w->frames[w->levels - 1];
                const char *word = spec_suggest_word(f->module->enums[field->type], found->text, found->size);

                if (word)
                        put(&line, "; did you mean %s?", word);
        }
        return stop(w, walk_offset(w), errnum, line.text);
}

int report_value(struct walk *w, const struct found *found) {
        const struct frame *f = w->levels ? &w->frames[w->levels - 1] : NULL;
        struct piece expected = { 0 };

        if (!f)
                put(&expected, "an object");
        else if (f->form == SPEC_ONE && f->field->form != SPEC_ONE)
                put_expected_many(&expected, f->field);
        else
                put_expected(&expected, f->module, f->field);
        return report_found(w, EINVAL, expected.text, f ? f->field : NULL, found);
}

int report_rule(struct walk *w, int errnum, const char *expected, const struct found *found) {
        return report_found(w, errnum, expected, w->frames[w->levels - 1].field, found);
}

int report_missing(struct walk *w, const struct spec_field *field) {
        struct frame *f = &w->frames[w->levels - 1];
        struct piece expected = { 0 };

        if (field->form != SPEC_ONE)
                put_expected_many(&expected, field);
        else
                put_expected(&expected, f->module, field);
        f->field = field; /* for its path */
        return report(w, f->start, "expected %s, found nothing: the member is required", expected.text);
}

int report_unknown(struct walk *w, const char *key, size_t size) {
        const struct frame *f = &w->frames[w->levels - 1];
        const char *near = spec_suggest_member(f->type, key, size);
        struct piece name = { 0 };

        put_start(&name, key, size, sizeof w->unknown - 5);
        memcpy(w->unknown, name.text, name.n + 1);
        w->ignoring = true; /* for its path */
        if (near)
                return report(w, walk_offset(w), "expected a member this object may have, found \"%s\"; did you mean %s?", name.text, near);
        return report(w, walk_offset(w), "expected a member this object may have, found \"%s\"", name.text);
}
