/* A file that an option names: a path, or fd:N for a descriptor that our caller opened. */
#pragma once

#include <stddef.h>

#include "base/error.h"
#include "base/str.h"

/* Is TEXT a descriptor's? ret (may be NULL) is its number. "fd:x" is CODE_USAGE, as is a number that nothing is open under. Returns 1, 0 or a
 * negative errno. option: "--env-file", the place of the error. */
int source_fd(const char *option, const char *text, int *ret, struct error *err);

/* Appends all that is to be read there to OUT, at most MAX bytes. CODE_USAGE. */
int source_read(const char *option, const char *text, size_t max, struct str *out, struct error *err);
