/* A container from its bundle to its end, in the foreground: what `run` does, and `sandbox` with a bundle of its own. */
#pragma once

#include "cmd/create_options.h"

/* supervisor: what is asked of the supervision stands in it; supervise_finish() is the caller's. ret_status: the exit status of the command, or
 * of an interruption. */
int run_container(struct invocation *invocation, const struct create_options *o, const char *id, struct supervisor *supervisor,
        int *ret_status, struct error *err);
