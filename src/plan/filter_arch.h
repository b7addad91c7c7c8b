/* The architectures a filter can be for, and what a system call is on each. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plan/syscalls.h"
#include "spec/config.h"

/* x32 calls carry this bit in the number and share x86_64's audit architecture (arch/x86/include/uapi/asm/unistd.h). */
#define FILTER_X32_BIT UINT32_C(0x40000000)

enum filter_machine { FILTER_X86_64 = 1, FILTER_AARCH64 };

#if defined(__x86_64__)
#define FILTER_THIS_MACHINE FILTER_X86_64
#elif defined(__aarch64__)
#define FILTER_THIS_MACHINE FILTER_AARCH64
#else
#error "x86_64 and aarch64 only"
#endif

struct filter_arch {
        enum oci_seccomp_arch name;
        enum filter_machine machine; /* whose kernel executes its programs */
        enum syscall_column column;
        uint32_t audit;   /* AUDIT_ARCH_* in seccomp_data.arch */
        uint32_t first;   /* lowest system call number */
        bool narrow;      /* arguments are 32 bits wide */
        bool multiplexes; /* socketcall(2) and ipc(2) */
};

/* One number that a name stands for. CALL is the first argument of socketcall(2) or ipc(2) that selects it, 0 for a call of its own. */
struct filter_number {
        uint32_t number, call;
};

/* The rows of MACHINE's kernel, its own architecture first, rows of equal AUDIT next to each other. */
const struct filter_arch *filter_arches(enum filter_machine machine, size_t *ret_n);

/* Fills RET with the numbers of CALL on ARCH and returns how many, 0 where it has no such call. *RET_LARGEST is raised to the number of a
 * call that no multiplexer has; it is what the ENOSYS rule counts. */
size_t filter_resolve(const struct filter_arch *arch, const struct syscall_row *call, struct filter_number ret[2], uint32_t *ret_largest);
