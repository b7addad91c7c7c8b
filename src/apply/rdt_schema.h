/* Lines of schemata files (resctrl.rst, "Reading/writing the schemata file"): text only. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Every domain that the line ASKED names has that value in EXISTING, a whole schemata file. The kernel writes numbers in its own way (blanks,
 * leading zeros, all domains, in its order), so they are compared as numbers; those of MB after rounding up to STEP, as it does. */
bool rdt_schema_holds(const char *existing, const char *asked, uint64_t step);
