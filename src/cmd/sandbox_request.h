/* From the options of a sandbox to what Sage's members say. Internal to cmd/spec_sandbox.c and its tests. */
#pragma once

#include "cmd/spec_sandbox.h"

/* What the options say, and nothing they do not; which mode hosts and a proxy mean is said as well. Errors: CODE_USAGE or the code of the
 * member, the option in err->where. */
int sandbox_request_said(struct arena *arena, const struct sandbox_options *o, const struct sandbox_found *found, struct sage_request *ret,
        struct error *err);

/* SAID over the policy (may be NULL), and what a sandbox is when neither says: hard limits where the host has what they take, a shell as
 * any other program, symlinks as workspaces have them, plain HTTP beside HTTPS. */
void sandbox_request_fill(
        struct arena *arena, const struct sandbox_found *found, const struct sage_request *said, struct sage_request *ret);

/* REQUEST as annotations. */
int sandbox_request_annotate(struct arena *arena, const struct sage_request *request, struct oci_config *config, struct error *err);

/* An error about a member becomes one about its option. Returns R. */
int sandbox_request_name(int r, struct error *err);
