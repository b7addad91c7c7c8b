/* OCI hooks (runtime-spec config.md, "POSIX-platform Hooks"): programs that the engine wants run at set points of a life. */
#pragma once

#include <stddef.h>

#include "base/error.h"
#include "base/signals.h"
#include "plan/filter.h"
#include "spec/config.h"

/* Where hooks write to; -1: where we do. */
struct hook_output { int out, err; };
#define HOOK_OUTPUT_OURS { .out = -1, .err = -1 }

/* Opens the files that run.oci.hooks.stdout and run.oci.hooks.stderr name (NULL: none), made where they are not there, to be appended to. */
int hook_output_open(const char *out, const char *err_path, struct hook_output *ret, struct error *err);
void hook_output_close(struct hook_output *output);

struct hook_context {
        const char *state;                /* JSON for their stdin */
        size_t state_size;
        const char *directory;            /* where they start; NULL: where we are */
        const char *const *environment;   /* of a hook that names none; NULL: an empty one */
        struct hook_output output;        /* where they write to */
        /* A seccomp program that the hook is put under just before it is executed, and its flags, less those about a listener, which is
         * the payload's alone: what it would be asked is ENOSYS here. NULL: none but what we are under ourselves. */
        const struct filter_program *filter;
        const struct filter_program *own_filter; /* goes on before that, with no flags: a sandbox's own; NULL: none */
        uint64_t filter_flags;
        struct interruption *interruption; /* ends a hook as well; NULL: none */
        const int *process;               /* pidfd of a process without which no hook is of use: it ends with that one; NULL: none */
};

#define HOOK_CONTEXT_EMPTY { .output = HOOK_OUTPUT_OURS }
static inline void hook_context_close(struct hook_context *context) { hook_output_close(&context->output); }
#define _cleanup_hook_context_ __attribute__((cleanup(hook_context_close)))

/* Runs HOOKS one after the other; the first failure ends it. point: name of the list, for messages ("prestart").
 * A hook that outlives its timeout (seconds) is killed with its whole process group. -EIO and CODE_HOOK_FAILED, or CODE_TIMEOUT.
 * A hook does not outlive us either. */
int hooks_run(const char *point, const struct oci_hook *hooks, size_t n, const struct hook_context *context, struct error *err);

/* The same for poststop: the container is gone already, so a hook that fails is a warning, and the next one runs all the same
 * (runtime-spec runtime.md, "Lifecycle" 13). */
void hooks_run_all(const char *point, const struct oci_hook *hooks, size_t n, const struct hook_context *context);
