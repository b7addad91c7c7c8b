/* Descriptors for others: one is sent to whoever listens on a Unix socket. */
#pragma once

#include <stddef.h>

#include "base/error.h"

/* Connects to the stream socket PATH, of any length, sends the SIZE bytes of DATA (at least one: receivers read them) with FD, and closes
 * the connection. An engine accepts at once; nobody is waited for longer than ten seconds, as a container may be locked meanwhile.
 *
 * receiver  how messages call who listens there: "the console socket"
 * where     the option or field that names PATH; NULL: PATH itself
 *
 * CODE_TIMEOUT where nobody accepts, else CODE_LAUNCH_FAILED; FD stays the caller's. */
int fd_send(const char *path, const char *receiver, const char *where, const void *data, size_t size, int fd, struct error *err);
