/* OCI hooks (runtime-spec config.md, "POSIX-platform Hooks"): programs that the engine wants run at set points of a life. */
#pragma once

#include <stddef.h>

#include "base/error.h"
#include "spec/config.h"

struct hook_context {
        const char *state;                /* JSON for their stdin */
        size_t state_size;
        const char *directory;            /* where they start; NULL: where we are */
        const char *const *environment;   /* of a hook that names none; NULL: an empty one */
        const int *process;               /* pidfd of a process without which no hook is of use: it ends with that one; NULL: none */
};

/* Runs HOOKS one after the other; the first failure ends it. point: name of the list, for messages ("prestart").
 * A hook that outlives its timeout (seconds) is killed with its whole process group. -EIO and CODE_HOOK_FAILED, or CODE_TIMEOUT.
 * A hook does not outlive us either. */
int hooks_run(const char *point, const struct oci_hook *hooks, size_t n, const struct hook_context *context, struct error *err);

/* The same for poststop: the container is gone already, so a hook that fails is a warning, and the next one runs all the same
 * (runtime-spec runtime.md, "Lifecycle" 13). */
void hooks_run_all(const char *point, const struct oci_hook *hooks, size_t n, const struct hook_context *context);
