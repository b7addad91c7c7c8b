/* Putting a filter in force. */
#pragma once

#include <stdint.h>

#include "base/error.h"
#include "plan/filter.h"

/* Loads PROGRAM with FLAGS (SECCOMP_FILTER_FLAG_*) for the calling thread and what it becomes. Called in the child as late as possible:
 * with no_new_privs set, or else while CAP_SYS_ADMIN is still held. From here on every call of the process, also those that report a
 * failure, is subject to it. No heap. (libseccomp has seccomp_load already.)
 *
 * ret_listener  with SECCOMP_FILTER_FLAG_NEW_LISTENER the descriptor that calls are reported to, close-on-exec; else -1 */
int filter_load(const struct filter_program *program, uint64_t flags, int *ret_listener, struct error *err);
