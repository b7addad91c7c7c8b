/* The tables behind spec.h. generate.py writes them, decode.c and encode.c read them; nobody else needs this header.
 *
 * A member of an object is 16 bytes of small numbers. Names are offsets into one pool a schema, other types and enums are indices
 * into one list a schema: there are no pointers a member, so tables stay in read-only pages and a position-independent program
 * relocates a few words a type. */
#pragma once

#include "libocispec/spec.h"
#include "libocispec/validators.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum spec_kind { SPEC_STRING, SPEC_BOOLEAN, SPEC_INTEGER, SPEC_NUMBER, SPEC_ENUM, SPEC_OBJECT };
enum spec_form { SPEC_ONE, SPEC_ARRAY, SPEC_MAP };

enum {
        SPEC_REQUIRED = 1 << 0,
        SPEC_SIGNED = 1 << 1,    /* integers */
        SPEC_EMIT_NULL = 1 << 2, /* an absent member is written as null */
        SPEC_NOT_NULL = 1 << 3,  /* null is refused, and not the same as absent */
        SPEC_ABOVE_MIN = 1 << 4, /* numbers: the minimum itself is refused */
};

#define SPEC_NO_BIT 0xff

struct spec_field {
        uint16_t name;    /* offset into module->names */
        uint16_t offset;  /* in the struct: the scalar, or the pointer */
        uint16_t count;   /* in the struct: the size_t behind an array or a map */
        uint16_t type;    /* index into module->types or module->enums */
        uint8_t kind : 4; /* enum spec_kind, of one element */
        uint8_t form : 4; /* enum spec_form */
        uint8_t width;    /* bytes of one scalar element */
        uint8_t presence; /* bit of `has`, or SPEC_NO_BIT */
        uint8_t flags;
        uint8_t validator;     /* of strings: enum spec_validator */
        uint8_t key_validator; /* of map keys */
        uint8_t min_items;
        uint8_t range; /* index into module->ranges */
};

/* Both ends belong to it. Numbers (double) use it as well, and are unlimited where both are 0. */
struct spec_range {
        int64_t min;
        uint64_t max;
};

struct spec_enum {
        const char *words; /* one after the other, each with its NUL */
        unsigned n;
};

/* What one schema file has. A name is preceded by one byte that holds its length. */
struct spec_module {
        const char *names;
        const struct spec_field *fields;
        const struct spec_range *ranges;
        const struct spec_type *const *types;
        const struct spec_enum *const *enums;
};

struct spec_type {
        const struct spec_module *module;
        uint64_t required; /* bit n: field n must be there */
        uint16_t first;    /* its fields are module->fields[first] to [first + n - 1] */
        uint16_t n;
        uint16_t size; /* of the struct; one with a presence bit starts with `uint64_t has` */
        bool refuse;   /* members that are not in the table: refuse, or ignore */
};

/* What a map from string to object is made of; the real struct has the object's struct in place of VALUE. */
struct spec_entry {
        const char *key;
        uint64_t value[];
};

static inline const char *spec_name(const struct spec_module *module, const struct spec_field *field) {
        return module->names + field->name + 1;
}

static inline size_t spec_name_size(const struct spec_module *module, const struct spec_field *field) {
        return (unsigned char)module->names[field->name];
}

/* The bytes of one element in an array or a map. */
static inline size_t spec_element_size(const struct spec_module *module, const struct spec_field *field) {
        size_t size = field->width;

        if (field->kind == SPEC_STRING)
                size = sizeof(char *);
        else if (field->kind == SPEC_OBJECT)
                size = module->types[field->type]->size;
        return field->form == SPEC_MAP ? (sizeof(struct spec_entry) + size + 7) & ~(size_t)7 : size;
}
