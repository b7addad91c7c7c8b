/* Files by which an administrator says what others may do: read only if nobody else can have written them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/str.h"

/* Opens the file at the absolute PATH for reading. It and every directory on the way must be root's (CALLERS: or the caller's, for a file that
 * he names) and writable by nobody else; a directory with the sticky bit may be, since in there nobody moves what is another's. Symlinks
 * are refused: who wrote them would be one more to ask about.
 *
 * Each step is taken from the descriptor of the one before, and what was judged is what is read: nothing can be put in its place meanwhile.
 *
 * Returns a descriptor, -ENOENT with CODE_NOT_FOUND, or another negative errno with CODE_CONFIG_INVALID. */
int trusted_file_open(const char *path, bool callers, struct error *err);

/* Appends what is in such a file to OUT. Files above MAX bytes are -EFBIG. */
int trusted_file_read(const char *path, bool callers, size_t max, struct str *out, struct error *err);
