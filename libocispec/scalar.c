/* Values without parts: from their text to the bytes of a struct. */
#include "libocispec/walk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* An integer that lies in RANGE, in two's complement. yajl has checked the grammar of JSON numbers; a fraction or an exponent makes
 * it none of ours even if its value is whole (RFC 8259 leaves that to us, Go's encoding/json refuses it as well). */
static bool parse_integer(const char *text, size_t n, const struct spec_range *range, uint64_t *ret) {
        bool negative = n > 0 && text[0] == '-';
        uint64_t value = 0;

        for (size_t i = negative; i < n; i++) {
                if (text[i] < '0' || text[i] > '9')
                        return false;
                if (__builtin_mul_overflow(value, 10u, &value) || __builtin_add_overflow(value, (uint64_t)(text[i] - '0'), &value))
                        return false;
        }
        if (negative && value > 0) {
                if (value > 0 - (uint64_t)range->min || range->min >= 0)
                        return false;
                value = 0 - value;
        } else if (value > range->max || (range->min > 0 && value < (uint64_t)range->min)) {
                return false;
        }
        *ret = value;
        return true;
}

/* A finite number that lies in RANGE. strtod(3) wants a NUL; the runtime never leaves the C locale, so "." is its point. */
static bool parse_number(const char *text, size_t n, const struct spec_range *range, bool above_min, double *ret) {
        char copy[64];
        double value;

        if (n >= sizeof copy)
                return false;
        memcpy(copy, text, n);
        copy[n] = '\0';
        value = strtod(copy, NULL);
        if (!__builtin_isfinite(value))
                return false;
        if ((range->min || range->max) && (value < (double)range->min || value > (double)range->max))
                return false;
        if (above_min && value == (double)range->min)
                return false;
        *ret = value;
        return true;
}

static void store_integer(char *at, unsigned width, uint64_t value) {
        switch (width) {
        case 1:
                *(uint8_t *)at = (uint8_t)value;
                break;
        case 2:
                *(uint16_t *)at = (uint16_t)value;
                break;
        case 4:
                *(uint32_t *)at = (uint32_t)value;
                break;
        default:
                *(uint64_t *)at = value;
        }
}

static int store_string(struct walk *w, const struct spec_field *field, const struct found *found, char *at) {
        const char *rule = field->validator ? spec_validate(field->validator, found->text, found->size) : NULL;

        if (rule) {
                bool exec = field->validator == SPEC_VALID_ENV || field->validator == SPEC_VALID_ARG;

                return report_rule(w, exec && found->size > UINT16_MAX ? E2BIG : EINVAL, rule, found);
        }
        *(const char **)at = arena_strndup(w->arena, found->text, found->size);
        return GO;
}

int scalar_store(struct walk *w, const struct frame *f, const struct found *found, char *at) {
        const struct spec_field *field = f->field;
        const struct spec_range *range = &f->module->ranges[field->range];
        uint64_t integer;
        int word;

        switch ((enum spec_kind)field->kind) {
        case SPEC_STRING:
                return found->kind == FOUND_STRING ? store_string(w, field, found, at) : report_value(w, found);
        case SPEC_BOOLEAN:
                if (found->kind != FOUND_BOOLEAN)
                        return report_value(w, found);
                *(bool *)at = found->truth;
                return GO;
        case SPEC_INTEGER:
                if (found->kind != FOUND_NUMBER || !parse_integer(found->text, found->size, range, &integer))
                        return report_value(w, found);
                store_integer(at, field->width, integer);
                return GO;
        case SPEC_NUMBER:
                if (found->kind != FOUND_NUMBER ||
                        !parse_number(found->text, found->size, range, field->flags & SPEC_ABOVE_MIN, (double *)at))
                        return report_value(w, found);
                return GO;
        case SPEC_ENUM:
                word = found->kind == FOUND_STRING ? spec_enum_find(f->module->enums[field->type], found->text, found->size) : 0;
                if (!word)
                        return report_value(w, found);
                *(uint32_t *)at = (uint32_t)word;
                return GO;
        case SPEC_OBJECT:
                break;
        }
        return report_value(w, found);
}
