#include "libocispec/member.h"

#include "libocispec/table.h"

#include <stdlib.h>

static const struct spec_field *field_of(const struct spec_type *type, unsigned i) {
        return &type->module->fields[type->first + i];
}

unsigned spec_members(const struct spec_type *type) {
        return type->n;
}

const char *spec_member_name(const struct spec_type *type, unsigned i) {
        return spec_name(type->module, field_of(type, i));
}

int spec_member_find(const struct spec_type *type, const char *name, size_t n) {
        for (unsigned i = 0; i < type->n; i++)
                if (spec_name_size(type->module, field_of(type, i)) == n && memcmp(spec_member_name(type, i), name, n) == 0)
                        return (int)i;
        return -1;
}

static const void *pointer_in(const struct spec_field *field, const void *value) {
        return *(void *const *)((const char *)value + field->offset);
}

/* Everything but a scalar is a pointer, which tells by itself. */
static bool has_bit(const struct spec_field *field) {
        return field->presence != SPEC_NO_BIT;
}

bool spec_member_given(const struct spec_type *type, unsigned i, const void *value) {
        const struct spec_field *field = field_of(type, i);

        return has_bit(field) ? *(const uint64_t *)value >> field->presence & 1 : pointer_in(field, value) != NULL;
}

void spec_member_take(const struct spec_type *type, unsigned i, void *into, const void *from) {
        const struct spec_field *field = field_of(type, i);
        size_t size = has_bit(field) ? field->width : sizeof(void *);

        memcpy((char *)into + field->offset, (const char *)from + field->offset, size);
        if (field->form != SPEC_ONE)
                memcpy((char *)into + field->count, (const char *)from + field->count, sizeof(size_t));
        if (has_bit(field))
                *(uint64_t *)into |= *(const uint64_t *)from & UINT64_C(1) << field->presence;
}

/* ---- values ---------------------------------------------------------------------------------------------------------- */

static uint64_t load(const struct spec_field *field, const char *at) {
        switch (field->width) {
        case 1:
                return *(const uint8_t *)at;
        case 2:
                return *(const uint16_t *)at;
        case 4:
                return *(const uint32_t *)at;
        default:
                return *(const uint64_t *)at;
        }
}

static bool equal_element(const struct spec_field *field, const char *a, const char *b) {
        if (field->kind == SPEC_STRING)
                return streq(*(const char *const *)a, *(const char *const *)b);
        if (field->kind == SPEC_NUMBER)
                return *(const double *)a == *(const double *)b;
        return load(field, a) == load(field, b);
}

size_t spec_member_length(const struct spec_type *type, unsigned i, const void *value) {
        return *(const size_t *)((const char *)value + field_of(type, i)->count);
}

static const char *element(const struct spec_type *type, unsigned i, const void *value, size_t n) {
        const struct spec_field *field = field_of(type, i);

        if (field->form == SPEC_ONE)
                return (const char *)value + field->offset;
        return (const char *)pointer_in(field, value) + n * spec_element_size(type->module, field);
}

bool spec_member_equal(const struct spec_type *type, unsigned i, const void *a, const void *b) {
        const struct spec_field *field = field_of(type, i);
        size_t n = field->form == SPEC_ONE ? 1 : spec_member_length(type, i, a);

        if (field->form != SPEC_ONE && n != spec_member_length(type, i, b))
                return false;
        for (size_t k = 0; k < n; k++)
                if (!equal_element(field, element(type, i, a, k), element(type, i, b, k)))
                        return false;
        return true;
}

bool spec_member_holds(const struct spec_type *type, unsigned i, const void *b, const void *a, size_t n) {
        for (size_t k = 0; k < spec_member_length(type, i, b); k++)
                if (equal_element(field_of(type, i), element(type, i, a, n), element(type, i, b, k)))
                        return true;
        return false;
}

const char *spec_member_string(const struct spec_type *type, unsigned i, const void *value, size_t n) {
        return *(const char *const *)element(type, i, value, n);
}

int spec_member_compare(const struct spec_type *type, unsigned i, const void *a, const struct spec_type *other, unsigned k, const void *b) {
        const struct spec_field *field = field_of(type, i);
        const char *x = element(type, i, a, 0), *y = element(other, k, b, 0);

        if (field->kind != field_of(other, k)->kind || field->flags & SPEC_SIGNED)
                abort(); /* of two schemas that belong together */
        if (field->kind == SPEC_NUMBER)
                return (*(const double *)x > *(const double *)y) - (*(const double *)x < *(const double *)y);
        return (load(field, x) > load(field_of(other, k), y)) - (load(field, x) < load(field_of(other, k), y));
}

void spec_member_copy_number(
        const struct spec_type *type, unsigned i, void *into, const struct spec_type *other, unsigned k, const void *from) {
        const struct spec_field *field = field_of(type, i);

        if (field->kind != field_of(other, k)->kind || field->width != field_of(other, k)->width || !has_bit(field))
                abort();
        memcpy((char *)into + field->offset, element(other, k, from, 0), field->width);
        *(uint64_t *)into |= UINT64_C(1) << field->presence;
}

/* ---- one member as plain text ----------------------------------------------------------------------------------------- */

/* The grammar of numbers in RFC 8259, section 6. */
static bool is_number(const char *text, size_t n) {
        const char *end = text + n, *digits;

        text += text < end && *text == '-';
        for (digits = text; text < end && *text >= '0' && *text <= '9';)
                text++;
        if (text == digits || (*digits == '0' && text > digits + 1))
                return false;
        if (text < end && *text == '.') {
                for (digits = ++text; text < end && *text >= '0' && *text <= '9';)
                        text++;
                if (text == digits)
                        return false;
        }
        if (text < end && (*text | 0x20) == 'e') {
                text++;
                text += text < end && (*text == '+' || *text == '-');
                for (digits = text; text < end && *text >= '0' && *text <= '9';)
                        text++;
                if (text == digits)
                        return false;
        }
        return text == end;
}

/* What is no number or boolean becomes a string, which the decoder refuses with the words that it has for everything. */
static void put_word(struct str *json, const struct spec_field *field, const char *text, size_t n) {
        bool number = field->kind == SPEC_INTEGER || field->kind == SPEC_NUMBER;
        bool boolean = field->kind == SPEC_BOOLEAN &&
                ((n == 4 && memcmp(text, "true", 4) == 0) || (n == 5 && memcmp(text, "false", 5) == 0));

        if (boolean || (number && is_number(text, n))) {
                str_add(json, text, n);
                return;
        }
        str_putc(json, '"');
        for (size_t i = 0; i < n; i++) {
                unsigned char c = (unsigned char)text[i];

                if (c < 0x20 || c == '"' || c == '\\')
                        str_printf(json, "\\u%04x", c);
                else
                        str_putc(json, (char)c);
        }
        str_putc(json, '"');
}

int spec_member_decode(
        struct arena *arena, const struct spec_type *type, unsigned i, const char *text, void *ret_value, struct error *err) {
        const struct spec_field *field = field_of(type, i);
        _cleanup_str_ struct str json = { 0 };
        size_t n;

        str_printf(&json, "{\"%s\":", spec_member_name(type, i));
        if (field->form == SPEC_ONE) {
                put_word(&json, field, text, strlen(text));
        } else {
                str_putc(&json, '[');
                for (bool any = false; text += strspn(text, " "), (n = strcspn(text, " ")) > 0; text += n, any = true) {
                        if (any)
                                str_putc(&json, ',');
                        put_word(&json, field, text, n);
                }
                str_putc(&json, ']');
        }
        str_putc(&json, '}');
        return spec_decode(arena, type, NULL, json.text, json.size, ret_value, err);
}
