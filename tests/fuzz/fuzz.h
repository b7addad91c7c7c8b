/* What every target is made of. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* WHAT, a promise, was not kept unless OK. */
static inline void expect(bool ok, const char *what) {
        if (ok)
                return;
        fprintf(stderr, "%s\n", what);
        abort();
}
