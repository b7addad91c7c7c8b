/* "did you mean …": the nearest of the known words. */
#pragma once

#include <stddef.h>

struct spec_type;
struct spec_enum;

/* The member of TYPE whose name is nearest to TEXT, or NULL when none is near. */
const char *spec_suggest_member(const struct spec_type *type, const char *text, size_t n);
/* The same for the words of an enum. */
const char *spec_suggest_word(const struct spec_enum *e, const char *text, size_t n);
