#pragma once

#include "plan/compilation.h"

/* process.env: each entry NAME=VALUE; of two with one name the later counts (what a shell would make of the list), and it keeps the
 * later one's place. *ret_home: HOME is among them; an empty one is left out, as if there were none. */
int environment_compile(struct arena *arena, const char *const *env, size_t n, const char *field, const char ***ret, size_t *ret_n,
                        bool *ret_home, struct error *err);
