#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { ERRNO_MAX = 4095 }; /* include/linux/err.h, MAX_ERRNO */

static const struct error_code error_codes[CODE_COUNT] = {
        [CODE_OK] = { "sandbox.ok", NULL },
        [CODE_USAGE] = { "sandbox.usage", NULL },
        [CODE_CONFIG_INVALID] = { "sandbox.config_invalid", NULL },
        [CODE_NETWORK_POLICY_INVALID] = { "sandbox.network_policy_invalid", NULL },
        [CODE_WORKSPACE_INVALID] = { "sandbox.workspace_invalid", NULL },
        [CODE_IDENTITY_INVALID] = { "sandbox.identity_invalid", NULL },
        [CODE_RESOURCE_LIMITS_UNSUPPORTED] = { "sandbox.resource_limits_unsupported", "run `sage-runtime check` to see what this host lacks" },
        [CODE_CAPABILITY_UNSUPPORTED] = { "sandbox.capability_unsupported", "run `sage-runtime check` to see what this host lacks" },
        [CODE_PERMISSION_DENIED] = { "sandbox.permission_denied", NULL },
        [CODE_RESOURCE_EXHAUSTED] = { "sandbox.resource_exhausted", NULL },
        [CODE_LAUNCH_FAILED] = { "sandbox.launch_failed", NULL },
        [CODE_EXECUTABLE_UNAVAILABLE] = { "sandbox.executable_unavailable", NULL },
        [CODE_HOOK_FAILED] = { "sandbox.hook_failed", NULL },
        [CODE_INVALID_STATE] = { "sandbox.invalid_state", NULL },
        [CODE_NOT_FOUND] = { "sandbox.not_found", NULL },
        [CODE_EXISTS] = { "sandbox.exists", NULL },
        [CODE_BUSY] = { "sandbox.busy", NULL },
        [CODE_LOST] = { "sandbox.lost", NULL },
        [CODE_RELEASE_FAILED] = { "sandbox.release_failed", "run `sage-runtime delete --force` again" },
        [CODE_TIMEOUT] = { "sandbox.timeout", NULL },
        [CODE_INTERRUPTED] = { "sandbox.interrupted", NULL },
        [CODE_STATE_CORRUPT] = { "sandbox.state_corrupt", NULL },
        [CODE_INTERNAL] = { "sandbox.internal", NULL },
};

const struct error_code *error_code(unsigned code) {
        return &error_codes[code < CODE_COUNT ? code : CODE_INTERNAL];
}

const char *error_effect_name(unsigned effect) {
        static const char *const names[] = { "not_applied", "applied", "unknown" };

        return names[effect <= EFFECT_UNKNOWN ? effect : EFFECT_UNKNOWN];
}

const char *error_limit_name(unsigned limit) {
        static const char *const names[ERROR_LIMITS] = { "cpu", "memory", "disk", "process_count" };

        return limit < ERROR_LIMITS ? names[limit] : NULL;
}

/* Copies FROM over TO of SIZE bytes with control characters as \xNN, whole characters only. FROM and TO may not overlap. */
static void copy_escaped(char *to, size_t size, const char *from) {
        size_t n = 0;

        for (; *from; from++) {
                unsigned char c = (unsigned char)*from;
                size_t width = c < 0x20 || c == 0x7f ? 4 : 1;

                if (n + width >= size)
                        break;
                if (width == 4)
                        snprintf(to + n, size - n, "\\x%02x", c);
                else
                        to[n] = (char)c;
                n += width;
        }
        to[n] = '\0';
}

static int fill(struct error *err, enum code code, int errnum, const char *where, const char *reason, const char *text, va_list ap) {
        char raw[sizeof err->text];
        int n;

        n = vsnprintf(raw, sizeof raw, text, ap);
        if (reason && n >= 0 && (size_t)n < sizeof raw)
                snprintf(raw + n, sizeof raw - (size_t)n, ": %s", reason);

        *err = (struct error){ .code = (uint16_t)code, .errnum = errnum };
        copy_escaped(err->where, sizeof err->where, where ? where : "");
        copy_escaped(err->text, sizeof err->text, raw);
        return -(errnum ? errnum : EINVAL);
}

int fail(struct error *err, enum code code, int errnum, const char *where, const char *text, ...) {
        va_list ap;
        int r;

        va_start(ap, text);
        r = fill(err, code, errnum, where, NULL, text, ap);
        va_end(ap);
        return r;
}

int fail_errno(struct error *err, enum code code, int errnum, const char *where, const char *text, ...) {
        va_list ap;
        int r;

        va_start(ap, text);
        r = fill(err, code, errnum, where, strerror(errnum), text, ap);
        va_end(ap);
        return r;
}

/* Escapes the SIZE bytes of TEXT in their place. FROM has room for as many. */
static void clean(char *text, size_t size, char *from) {
        memcpy(from, text, size);
        from[size - 1] = '\0';
        copy_escaped(text, size, from);
}

int error_received(struct error *err) {
        char raw[sizeof err->text];

        if (err->code == CODE_OK || err->code >= CODE_COUNT)
                err->code = CODE_INTERNAL;
        if (err->effect > EFFECT_UNKNOWN)
                err->effect = EFFECT_UNKNOWN;
        if (err->errnum < 0 || err->errnum > ERRNO_MAX)
                err->errnum = EIO;
        clean(err->where, sizeof err->where, raw);
        clean(err->text, sizeof err->text, raw);
        return -(err->errnum ? err->errnum : EIO);
}

int fail_within(struct error *err, int result, const char *prefix) {
        char raw[2 * sizeof err->text];

        snprintf(raw, sizeof raw, "%s: %s", prefix, err->text);
        copy_escaped(err->text, sizeof err->text, raw);
        return result;
}
