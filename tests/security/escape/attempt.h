/* One attempt to do what the payload filter refuses, and what must come of it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "request.h"

/* How an attempt ends, beside 0 for success and an errno. */
enum outcome { KILLED = 1000, CRASHED, OTHERWISE };

struct attempt {
        const char *name;
        long (*make)(const struct attempt *attempt); /* -1 with errno, as system calls have it, or not negative */
        long (*prepare)(void); /* goes before, in the same process, and is not under the filter; NULL: nothing to do */
        unsigned refused;      /* under which filters, bits of enum request; under the others it ends as without one */
        int with;              /* how it ends where it is refused; 0: EPERM */
        int without;           /* how it ends without a filter, for root in namespaces of its own; not EPERM, which would prove nothing */
        int or ;               /* or so, on other kernels. ENOSYS is always one: not every kernel has every call */
        bool anybody;          /* needs no privilege: what is not refused ends the same for the payload of a sandbox */
        long number;           /* of attempt_call(): the system call and its arguments */
        unsigned long args[6];
};

/* Makes the system call that ATTEMPT has the number of. */
long attempt_call(const struct attempt *attempt);

#define CALL(n, ...) .make = attempt_call, .number = (n), .args = { __VA_ARGS__ }
#define HIGH (1ul << 32)
#define POINTER(x) ((unsigned long)(x))

/* Those of one file. What they make is left to the end of their process and its namespaces. */
struct attempts {
        const char *topic;
        const struct attempt *rows;
        size_t n;
};
extern const struct attempts attempts_on_processes, attempts_on_namespaces, attempts_on_kernel, attempts_on_files, attempts_on_sockets,
        attempts_by_other_tables;
