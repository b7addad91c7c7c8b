/* Members of an object by their number in its table, for code that treats all of them alike: objects that are laid over each other, and
 * annotations that are one member each. VALUE is always the struct of TYPE. Only members that need not be there, and no objects or maps. */
#pragma once

#include "libocispec/spec.h"

#include <stdbool.h>

unsigned spec_members(const struct spec_type *type);
const char *spec_member_name(const struct spec_type *type, unsigned i);
/* -1: none is called so. */
int spec_member_find(const struct spec_type *type, const char *name, size_t n);

bool spec_member_given(const struct spec_type *type, unsigned i, const void *value);
/* INTO gets what FROM has, which must live as long: lists and strings are not copied. */
void spec_member_take(const struct spec_type *type, unsigned i, void *into, const void *from);

/* Both have it. The order of a list counts. */
bool spec_member_equal(const struct spec_type *type, unsigned i, const void *a, const void *b);
/* Member I of A against member K of B, both given and of one kind, that of numbers, booleans or enums: below, equal to or above 0. */
int spec_member_compare(const struct spec_type *type, unsigned i, const void *a, const struct spec_type *other, unsigned k, const void *b);
/* INTO, of another type, gets the number that FROM has. */
void spec_member_copy_number(
        const struct spec_type *type, unsigned i, void *into, const struct spec_type *other, unsigned k, const void *from);

/* Of a list: how many elements, and whether element N of A is among those of B. */
size_t spec_member_length(const struct spec_type *type, unsigned i, const void *value);
bool spec_member_holds(const struct spec_type *type, unsigned i, const void *b, const void *a, size_t n);
/* Element N of a list of strings. */
const char *spec_member_string(const struct spec_type *type, unsigned i, const void *value, size_t n);

/* Member I from plain text, as an annotation has it: numbers and booleans as in JSON, a string or a word as it is, the elements of a list
 * between blanks. All the rest is as with spec_decode(), except that messages have no line. *ret_value is a struct with this one member. */
int spec_member_decode(struct arena *arena, const struct spec_type *type, unsigned i, const char *text, void *ret_value, struct error *err);
