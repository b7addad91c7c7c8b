/* What a sandbox is asked to be: the sage.* annotations of a bundle and the policies over them, read, checked, laid over each other and
 * made into one request (docs/annotations.md, schemas/sage-*.json). Pure, like all of plan/: who calls has read the files.
 *
 * Nothing here runs for a bundle that has none of them. */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"
#include "plan/annotations.h"
#include "spec/config.h"
#include "spec/host-policy.h"
#include "spec/sage-request.h"

/* The files an administrator wrote. A path is how messages call a file; NULL: there is none. */
struct sage_sources {
        const struct sage_host_policy *host;
        const char *host_path;
        const struct sage_request *command_line; /* --sandbox-policy */
        const char *command_line_path;
        const struct sage_request *named; /* sage.sandbox.policy */
        const char *named_path;
};

struct sage_asked {
        const struct sage_request *request; /* NULL: nothing is asked */
        const char *canonical;              /* as JSON; the same request gives the same bytes */
        const char *fingerprint;            /* "sha256:" and the SHA-256 of that */
        const char *field;                  /* what asks: an annotation's path or --sandbox-policy */
};

/* Does CONFIG have annotations of ours? */
static inline bool sage_annotated(const struct oci_config *config) {
        return annotation_begins(config->annotations, config->n_annotations, "sage.");
}

/* The policy that its annotations name (no path, and so checked that it cannot become one); NULL: none, also where they do not count. */
int sage_policy_name(struct arena *arena, const struct oci_config *config, const char **ret, struct error *err);

/* Every failure is CODE_CONFIG_INVALID, CODE_NETWORK_POLICY_INVALID, CODE_WORKSPACE_INVALID or CODE_IDENTITY_INVALID with the annotation's
 * path or the policy's file and member in err->where. The result lives in ARENA and points into CONFIG and SOURCES. */
int sage_compile(struct arena *arena, const struct oci_config *config, const struct sage_sources *sources, struct sage_asked *ret,
        struct error *err);
