/* The one writer. It recurses, but only as deep as a schema nests (generate.py: 13 objects), whatever the value holds. */
#include "libocispec/table.h"

#include "libocispec/scan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where we are, for messages: a chain from the value that is being written up to the root. */
struct place {
        const struct place *above;
        const char *name; /* of a member, or a key */
        size_t index;     /* of an element, where name is NULL */
};

struct writer {
        struct str *out;
        bool pretty;
        unsigned level;
        struct error *err;
};

static void put_place(const struct place *place, char *path, size_t size) {
        size_t n;

        if (!place)
                return;
        put_place(place->above, path, size);
        n = strlen(path);
        if (place->name)
                snprintf(path + n, size - n, "%s%s", n ? "." : "", place->name);
        else
                snprintf(path + n, size - n, "[%zu]", place->index);
}

static int refuse(const struct writer *w, const struct place *place, const char *text) {
        char path[256] = "";

        put_place(place, path, sizeof path);
        return fail(w->err, CODE_INTERNAL, EINVAL, path, "cannot be written as JSON: %s", text);
}

static void new_line(const struct writer *w) {
        if (!w->pretty)
                return;
        str_putc(w->out, '\n');
        for (unsigned i = 0; i < w->level; i++)
                str_add(w->out, "  ", 2);
}

/* Opens with the first of many, a comma before the others. */
static void before_item(struct writer *w, bool *any) {
        if (*any)
                str_putc(w->out, ',');
        else
                w->level++;
        *any = true;
        new_line(w);
}

static void after_items(struct writer *w, bool any, char bracket) {
        if (any) {
                w->level--;
                new_line(w);
        }
        str_putc(w->out, bracket);
}

/* RFC 8259 section 7: only the quote, the backslash and control characters must be escaped, and only they are. */
static void put_escape(const struct writer *w, unsigned char c) {
        static const char short_forms[] = "\"\"\\\\\bb\ff\nn\rr\tt";
        static const char digits[] = "0123456789abcdef";

        for (const char *p = short_forms; *p; p += 2) {
                if ((unsigned char)p[0] == c) {
                        str_add(w->out, (char[]){ '\\', p[1] }, 2);
                        return;
                }
        }
        str_add(w->out, (char[]){ '\\', 'u', '0', '0', digits[c >> 4], digits[c & 15] }, 6);
}

static int put_string(const struct writer *w, const struct place *place, const char *text) {
        const char *end = text + strlen(text), *run = text;

        str_putc(w->out, '"');
        while (text < end) {
                unsigned char c = (unsigned char)*text;
                size_t n = 1;

                if (c >= 0x80 && (n = spec_utf8_size(text, (size_t)(end - text))) == 0)
                        return refuse(w, place, "the string is not UTF-8");
                if (c < 0x20 || c == '"' || c == '\\') {
                        str_add(w->out, run, (size_t)(text - run));
                        put_escape(w, c);
                        run = text + 1;
                }
                text += n;
        }
        str_add(w->out, run, (size_t)(text - run));
        str_putc(w->out, '"');
        return 0;
}

static void put_integer(const struct writer *w, bool negative, uint64_t value) {
        char text[24], *p = text + sizeof text;

        do {
                *--p = (char)('0' + value % 10);
                value /= 10;
        } while (value);
        if (negative)
                *--p = '-';
        str_add(w->out, p, (size_t)(text + sizeof text - p));
}

static void load_integer(const struct writer *w, const struct spec_field *field, const char *at) {
        bool is_signed = field->flags & SPEC_SIGNED;
        uint64_t value;

        switch (field->width) {
        case 1:
                value = *(const uint8_t *)at;
                break;
        case 2:
                value = *(const uint16_t *)at;
                break;
        case 4:
                value = is_signed ? (uint64_t)(int64_t) * (const int32_t *)at : *(const uint32_t *)at;
                break;
        default:
                value = *(const uint64_t *)at;
        }
        if (is_signed && (int64_t)value < 0)
                put_integer(w, true, 0 - value);
        else
                put_integer(w, false, value);
}

/* The shortest digits that read back as the same number; no exponent where a whole number does without. */
static int put_number(const struct writer *w, const struct place *place, double value) {
        char text[40];

        if (!__builtin_isfinite(value))
                return refuse(w, place, "the number is not finite");
        if (value > -0x1p53 && value < 0x1p53 && value == (double)(int64_t)value) {
                put_integer(w, value < 0, (uint64_t)(int64_t)(value < 0 ? -value : value));
                return 0;
        }
        for (int digits = 15; digits <= 17; digits++) {
                snprintf(text, sizeof text, "%.*g", digits, value);
                if (strtod(text, NULL) == value)
                        break;
        }
        str_puts(w->out, text);
        return 0;
}

static int put_object(struct writer *w, const struct place *place, const struct spec_type *type, const char *at);

/* One element of FIELD at AT. */
static int put_element(
        struct writer *w, const struct place *place, const struct spec_module *module, const struct spec_field *field, const char *at) {
        const char *word;

        switch ((enum spec_kind)field->kind) {
        case SPEC_STRING:
                if (!*(const char *const *)at)
                        return refuse(w, place, "the string is NULL");
                return put_string(w, place, *(const char *const *)at);
        case SPEC_BOOLEAN:
                str_puts(w->out, *(const bool *)at ? "true" : "false");
                return 0;
        case SPEC_INTEGER:
                load_integer(w, field, at);
                return 0;
        case SPEC_NUMBER:
                return put_number(w, place, *(const double *)at);
        case SPEC_ENUM:
                if (!(word = spec_enum_name(module->enums[field->type], *(const int *)at)))
                        return refuse(w, place, "the enum has no such word");
                return put_string(w, place, word);
        case SPEC_OBJECT:
                return put_object(w, place, module->types[field->type], at);
        }
        return 0;
}

static int put_array(struct writer *w, const struct place *place, const struct spec_module *module, const struct spec_field *field,
        const char *elements, size_t n) {
        size_t size = spec_element_size(module, field);
        bool any = false;
        int r;

        str_putc(w->out, '[');
        for (size_t i = 0; i < n; i++) {
                before_item(w, &any);
                if ((r = put_element(w, &(struct place){ place, NULL, i }, module, field, elements + i * size)) < 0)
                        return r;
        }
        after_items(w, any, ']');
        return 0;
}

static int put_key(struct writer *w, const struct place *place, const char *key) {
        int r = put_string(w, place, key);

        str_add(w->out, ": ", w->pretty ? 2 : 1);
        return r;
}

static int by_key(const void *a, const void *b) {
        return strcmp((*(const struct spec_entry *const *)a)->key, (*(const struct spec_entry *const *)b)->key);
}

static int put_entries(struct writer *w, const struct place *place, const struct spec_module *module, const struct spec_field *field,
        const struct spec_entry **entries, size_t n) {
        bool any = false;
        int r;

        str_putc(w->out, '{');
        for (size_t i = 0; i < n; i++) {
                const struct place here = { place, entries[i]->key, 0 };

                if (i > 0 && strcmp(entries[i - 1]->key, here.name) == 0)
                        return refuse(w, &here, "the map holds this key twice");
                before_item(w, &any);
                if ((r = put_key(w, &here, here.name)) < 0)
                        return r;
                if ((r = put_element(w, &here, module, field, (const char *)entries[i]->value)) < 0)
                        return r;
        }
        after_items(w, any, '}');
        return 0;
}

/* A map is written sorted, also when whoever built it did not sort it. */
static int put_map(struct writer *w, const struct place *place, const struct spec_module *module, const struct spec_field *field,
        const char *elements, size_t n) {
        size_t size = spec_element_size(module, field);
        _cleanup_arena_ struct arena scratch = { 0 };
        const struct spec_entry **entries;
        bool sorted = true;

        entries = arena_array(&scratch, const struct spec_entry *, n);
        for (size_t i = 0; i < n; i++) {
                entries[i] = (const struct spec_entry *)(elements + i * size);
                if (!entries[i]->key)
                        return refuse(w, place, "a key is NULL");
                sorted = sorted && (i == 0 || by_key(&entries[i - 1], &entries[i]) <= 0);
        }
        if (!sorted)
                qsort(entries, n, sizeof *entries, by_key);
        return put_entries(w, place, module, field, entries, n);
}

/* The value of a member that is there. */
static int put_value(struct writer *w, const struct place *place, const struct spec_module *module, const struct spec_field *field,
        const char *at, const char *base) {
        if (field->form == SPEC_ARRAY)
                return put_array(w, place, module, field, *(const char *const *)at, *(const size_t *)(base + field->count));
        if (field->form == SPEC_MAP)
                return put_map(w, place, module, field, *(const char *const *)at, *(const size_t *)(base + field->count));
        return put_element(w, place, module, field, field->kind == SPEC_OBJECT ? *(const char *const *)at : at);
}

/* Absent: an optional scalar without its bit; a string, object, array or map that is NULL. */
static bool absent(const struct spec_field *field, const char *base) {
        if (field->form != SPEC_ONE || field->kind == SPEC_STRING || field->kind == SPEC_OBJECT)
                return !*(const char *const *)(base + field->offset);
        return field->presence != SPEC_NO_BIT && !(*(const uint64_t *)base >> field->presence & 1);
}

static int put_object(struct writer *w, const struct place *place, const struct spec_type *type, const char *at) {
        const struct spec_module *module = type->module;
        bool any = false;
        int r;

        str_putc(w->out, '{');
        for (unsigned i = 0; i < type->n; i++) {
                const struct spec_field *field = &module->fields[type->first + i];
                const struct place here = { place, spec_name(module, field), 0 };
                bool gone = absent(field, at);

                if (gone && field->flags & SPEC_REQUIRED)
                        return refuse(w, &here, "the member is required, and absent");
                if (gone && !(field->flags & SPEC_EMIT_NULL))
                        continue;
                before_item(w, &any);
                if ((r = put_key(w, &here, here.name)) < 0)
                        return r;
                if (gone)
                        str_puts(w->out, "null");
                else if ((r = put_value(w, &here, module, field, at + field->offset, at)) < 0)
                        return r;
        }
        after_items(w, any, '}');
        return 0;
}

int spec_encode(const struct spec_type *type, const void *value, struct str *out, unsigned flags, struct error *err) {
        struct writer w = { .out = out, .pretty = flags & SPEC_PRETTY, .err = err };
        size_t before = out->size;
        int r = put_object(&w, NULL, type, value);

        if (r < 0) {
                out->size = before;
                if (out->text)
                        out->text[before] = '\0';
        }
        return r;
}
