/* How many bytes the files of some directories say they have. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The sum of the sizes of all regular files in and below the N directories TOPS; a file with several names counts once, by a part for each.
 * Goes into no mount and through no symlink, and looks at nothing else of a file. What changes meanwhile is counted before or after. A directory
 * that cannot be looked into is as if it were empty. 0 or a negative errno. */
int volume_measure(const int *tops, size_t n, uint64_t *ret_bytes);
