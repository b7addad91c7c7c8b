/* System call filters as tables. A filter of the broker's programs is a constant list of what is allowed; the payload's filters, which are
 * made from a bundle's rules, are plan/filter.h. */
#pragma once

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/* A build with sanitizers: their runtimes make calls of their own, and what they have to report shall be seen. */
#if defined(__SANITIZE_ADDRESS__)
#define CALLS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CALLS_SANITIZED 1
#endif
#endif
#ifndef CALLS_SANITIZED
#define CALLS_SANITIZED 0
#endif

struct call {
        int32_t number; /* __NR_* */
        uint8_t n_conditions;
        struct call_condition {
                uint8_t argument;
                uint32_t mask, value; /* (the argument's low 32 bits & mask) == value: only for arguments that the kernel takes as int,
                                       * or of which it looks at no higher bit */
        } conditions[2];              /* all of them; rows of the same number are alternatives */
};

/* clang-format off */
#define CALL(name) { __NR_##name, 0, { { 0 } } }
#define CALL_IF(name, argument, mask, value) { __NR_##name, 1, { { (argument), (uint32_t)(mask), (uint32_t)(value) } } }
#define CALL_IF_BOTH(name, argument, value, argument2, value2) \
        { __NR_##name, 2, { { (argument), ~0u, (uint32_t)(value) }, { (argument2), ~0u, (uint32_t)(value2) } } }
/* clang-format on */

/* The filter as a program: RET has room for CALLS_INSTRUCTIONS_MAX, of which *RET_N are used. */
#define CALLS_INSTRUCTIONS_MAX 512
struct sock_filter; /* linux/filter.h */
int calls_program(const struct call *rows, size_t n, uint32_t otherwise, struct sock_filter *ret, size_t *ret_n, struct error *err);

/* Sets no_new_privs and loads the filter: everything but the N rows does OTHERWISE (SECCOMP_RET_*), and calls of a foreign architecture kill
 * the process. There is no way back, and children inherit it. */
int calls_allow_only(const struct call *rows, size_t n, uint32_t otherwise, struct error *err);

/* In a build with sanitizers, while files can still be opened: reads what a report names functions and lines by. Else nothing. */
void calls_prepare_reports(void);
