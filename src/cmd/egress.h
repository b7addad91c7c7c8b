/* The two halves of `sage-runtime egress`. */
#pragma once

#include "cmd/command.h"

/* What the policy in the file POLICY ("fd:N": a descriptor) decides about DESTINATION, on stdout. ret_status: 0, some way there is allowed;
 * 1, none is. */
int egress_explain(struct invocation *invocation, const char *policy, const char *destination, int *ret_status, struct error *err);

/* The audit in the file PATH, and in PATH.1 where it became too long, on stdout: as a table, or as it is. follow: goes on with every line
 * that is added, until a signal asks for the end. */
int egress_audit(const char *path, bool follow, bool json, struct error *err);
