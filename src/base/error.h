/* One failure, by value. It holds no pointer, so it crosses the socket between child and runtime as it is. */
#pragma once

#include <stdarg.h>
#include <stdint.h>

/* What went wrong, as a stable name that a host may match on. Rows of error_codes[] (error.c). */
enum code {
        CODE_OK = 0,
        CODE_USAGE,                      /* the command line */
        CODE_CONFIG_INVALID,             /* config.json, a resources file, a process file, an annotation */
        CODE_NETWORK_POLICY_INVALID,
        CODE_WORKSPACE_INVALID,
        CODE_IDENTITY_INVALID,
        CODE_RESOURCE_LIMITS_UNSUPPORTED,
        CODE_CAPABILITY_UNSUPPORTED,     /* a valid request that this host or this build cannot enforce */
        CODE_PERMISSION_DENIED,          /* a policy does not allow this command */
        CODE_RESOURCE_EXHAUSTED,         /* pids.max, memory, disk, descriptors */
        CODE_LAUNCH_FAILED,
        CODE_EXECUTABLE_UNAVAILABLE,     /* the payload's program is missing or cannot be executed */
        CODE_HOOK_FAILED,
        CODE_INVALID_STATE,              /* the container is not in a state that allows the command */
        CODE_NOT_FOUND,
        CODE_EXISTS,
        CODE_BUSY,
        CODE_LOST,
        CODE_RELEASE_FAILED,
        CODE_TIMEOUT,
        CODE_INTERRUPTED,                /* by a signal to the runtime, before the payload ran */
        CODE_STATE_CORRUPT,
        CODE_INTERNAL,
        CODE_COUNT
};

/* Did the failed step change anything on the host? Every error starts as "not applied"; life/ raises it. */
enum effect { EFFECT_NOT_APPLIED = 0, EFFECT_APPLIED, EFFECT_UNKNOWN };

struct error {
        uint16_t code;   /* enum code */
        uint16_t effect; /* enum effect */
        uint16_t line;   /* 1-based line of the document that WHERE names a field of, 0 when there is none */
        uint16_t limits; /* of CODE_RESOURCE_LIMITS_UNSUPPORTED: bit N for error_limit_name(N), those that this host cannot enforce */
        int32_t errnum;  /* positive errno, or 0 */
        char where[148]; /* field path or host path; control characters escaped */
        char text[352];  /* what was expected, what was found, what to do */
};

struct error_code {
        const char *name;   /* "sandbox.config_invalid" */
        const char *remedy; /* one sentence for a person, or NULL */
};

/* The row of CODE; the row of CODE_INTERNAL for a number that is none of ours. */
const struct error_code *error_code(unsigned code);
const char *error_effect_name(unsigned effect);
/* One of Sage's four resource limits, "cpu" …; NULL from ERROR_LIMITS on. */
#define ERROR_LIMITS 4u
const char *error_limit_name(unsigned limit);

/* Fills ERR and returns the negative errno to pass up: `return fail(err, …)`. errnum 0 gives -EINVAL.
 * where: field path or path; may be NULL. Both texts are cut to fit, and their control characters shown as \xNN: a
 * container chooses some of these names, and the text ends up on a terminal or in one line of a log. */
__attribute__((format(printf, 5, 6)))
int fail(struct error *err, enum code code, int errnum, const char *where, const char *text, ...);

/* The same, with ": <strerror(errnum)>" put behind the text. */
__attribute__((format(printf, 5, 6)))
int fail_errno(struct error *err, enum code code, int errnum, const char *where, const char *text, ...);

/* ERR as another process sent it, which may be one of a container's own by then: makes of it what fail() could have made, and returns its
 * negative errno, which is never 0. */
int error_received(struct error *err);

/* Puts PREFIX before what ERR says, for a caller that knows more of the context. Returns RESULT. */
int fail_within(struct error *err, int result, const char *prefix);
