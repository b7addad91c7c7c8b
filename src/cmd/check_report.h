/* `check`: what this host can enforce, and what an administrator can do about the rest. */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "facts/facts.h"
#include "spec/plan.h"

/* Writes the report for PLAN (NULL: for the strict sandbox) to descriptor OUT: as a table, or with JSON as one document of
 * schemas/check.json. Asks HOST for every part there is, the trial clone too; nothing on the host is changed.
 *
 * Returns 0 when everything that is asked for can be enforced, 1 when not (the report says what; ERR is untouched: exit 1 without
 * another message), or a negative errno. */
int check_run(struct host *host, const struct plan_plan *plan, bool json, int out, struct error *err);
