/* What the payload filter refuses, as a table. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "plan/filter_clause.h"

/* One rule: the call is refused when all conditions hold. Rules for one call stand together; any of them refuses it. */
struct payload_rule {
        char call[19];
        uint8_t errnum;
        uint8_t parts;                         /* enum payload_filter_part */
        int16_t numbers[2];                    /* x86_64, aarch64; SYSCALL_NONE: no such call there */
        struct filter_condition conditions[3]; /* up to the first whose mask is 0 */
};

extern const struct payload_rule payload_rules[];
extern const size_t n_payload_rules;
