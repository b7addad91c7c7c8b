/* Named rules for strings, beyond their type. A schema says "validator": "absolute-path" (or, for the keys of a map, "keyValidator"). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* generate.py reads the names here, so that a schema with a misspelt one does not build. */
enum spec_validator {
        SPEC_VALID_ANY,
        SPEC_VALID_NONEMPTY,
        SPEC_VALID_ABSOLUTE_PATH,
        SPEC_VALID_ABSOLUTE_PATH_OR_EMPTY,
        SPEC_VALID_OCI_VERSION,
        SPEC_VALID_ARG,
        SPEC_VALID_ENV,
        SPEC_VALID_DEVICE_ACCESS,
        SPEC_VALID_HUGEPAGE_SIZE,
        SPEC_VALID_CPU_LIST,
        SPEC_VALID_ONE_LINE,
        SPEC_VALID_PROXY_ORIGIN,
        SPEC_VALID_CLEAN_PATH,
        SPEC_VALID_SEARCH_PATH,
        SPEC_VALID_ENV_NAME,
        SPEC_VALID_POLICY_NAME,
        SPEC_VALID_COUNT
};

/* NULL when TEXT, of N bytes, NUL-terminated and without a NUL inside, keeps the rule; otherwise what was expected, as in "expected %s". */
const char *spec_validate(enum spec_validator rule, const char *text, size_t n);
