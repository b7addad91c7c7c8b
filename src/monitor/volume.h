/* How many bytes the files of some directories take. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Called now and then while it is measured, with the bytes so far; anything but 0 ends the measuring and is what it returns. */
typedef int (*volume_turn)(uint64_t bytes, void *data);

/* The sum over all regular files in and below the N directories TOPS: of a file its size, or what the file system keeps for it where that is far
 * more (fallocate(2) reserves room beyond the end, up to any size; what a file system reserves by itself is less than the file again). A file
 * with several names counts once, by a part for each. What takes an inode takes a 4096th part of a project of its own, so that the sum is never
 * less than that for each name: neither empty files nor directories are for nothing. Goes into no mount and through no symlink, and looks at
 * nothing else of a file. What changes meanwhile is counted before or after; what is moved out from under us is -ESTALE, and *RET_BYTES what was
 * found until then. A directory that cannot be looked into is as if it were empty. TURN may be NULL. 0 or a negative errno. */
int volume_measure(const int *tops, size_t n, volume_turn turn, void *data, uint64_t *ret_bytes);

/* The bytes that the file system of descriptor FD has given out, also to files that have no name any more; 0 where it does not tell. */
uint64_t volume_used(int fd);
