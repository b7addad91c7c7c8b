#pragma once

#include "plan/compilation.h"

/* Annotations go to hooks and state as they are. The ones that ask this runtime for something it cannot do are refused. */
int annotations_compile(struct compilation *c);

/* The value of KEY, or NULL. The pairs are sorted. */
const char *annotation_find(const struct string_pair *pairs, size_t n, const char *key);
/* There is a key that begins with PREFIX. */
bool annotation_begins(const struct string_pair *pairs, size_t n, const char *prefix);
/* KEY is "1" or "true". */
bool annotation_true(const struct string_pair *pairs, size_t n, const char *key);
