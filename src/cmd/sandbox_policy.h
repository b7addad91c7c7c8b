/* The files of an administrator over a bundle's sage.* annotations: read, and decoded. */
#pragma once

#include "cmd/command.h"
#include "plan/sage.h"

/* Does CONFIG, or the command line, ask for anything that sage_compile() is about? */
static inline bool sandbox_asked(const struct invocation *invocation, const struct oci_config *config) {
        return invocation->sandbox_policy || sage_annotated(config);
}

/* Reads the host policy if there is one, the policy of --sandbox-policy, and the one that the annotations name. Named ones lie in the
 * directory "policies" beside the host policy. What RET points to lives in the invocation's arena. */
int sandbox_policies(const struct invocation *invocation, const struct oci_config *config, struct sage_sources *ret, struct error *err);
