/* Whole files, read and written in one go, and by rename where a reader must never see half of one. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/str.h"

/* Appends the whole of PATH (relative to directory DIR, or AT_FDCWD) to OUT. Files longer than MAX bytes are refused with
 * -EFBIG. Returns 0 or a negative errno; no error text, because only the caller knows what the file is. */
int file_read(int dir, const char *path, size_t max, struct str *out);
int file_read_fd(int fd, size_t max, struct str *out);

/* Writes the N bytes to a file that is there already (cgroup and proc files want one write(2) each). Short writes are -EIO. */
int file_write(int dir, const char *path, const void *data, size_t n);

/* Writes everything, however many writes it takes. */
int file_write_all(int fd, const void *data, size_t n);

/* Replaces DIR/NAME with these bytes so that a reader sees the old file or the new one, never a part: written beside it
 * and renamed (rename(2)). A failure leaves the old file as it was and no stray one behind. */
int file_replace(int dir, const char *name, mode_t mode, const void *data, size_t n);
