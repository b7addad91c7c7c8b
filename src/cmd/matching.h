/* The containers below --root whose id matches an expression: kill --regex and delete --regex. */
#pragma once

#include "cmd/command.h"

/* Calls ACT for each, in the order of their ids. PATTERN is an extended regular expression (regex(7)) that may match anywhere in an id, as
 * crun has it; anchor it with ^ and $. A failure of ACT does not keep the others from their turn: each is a warning, and then the first
 * one's code is that of the whole. */
int matching_containers(struct invocation *invocation, const char *pattern,
                        int (*act)(struct invocation *invocation, const char *id, const void *options, struct error *err),
                        const void *options, struct error *err);
