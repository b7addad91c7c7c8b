/* The steps of sandbox_compile(), one a file. Internal to plan/sandbox*.c. */
#pragma once

#include "plan/sandbox.h"

/* sandbox_identity.c: whom the commands run as, right or wrong; and the refusal of the latter, CODE_IDENTITY_INVALID: never uid or gid 0. */
void sandbox_identity_of(const struct sage_request *request, const struct oci_config *config, const struct facts_identity *caller,
        uint32_t *ret_uid, uint32_t *ret_gid);
int sandbox_check_identity(struct compilation *c);

/* sandbox_bundle.c: what a bundle may say besides, the identity being known. CODE_CONFIG_INVALID with the field. */
int sandbox_check_bundle(struct compilation *c);

/* sandbox_rewrite.c: c->request becomes one whose config.json says all that config.json can say of a strict sandbox, so that the other
 * parts of compile() make it as they make any container. */
void sandbox_rewrite(struct compilation *c);

/* sandbox_places.c: the places of the host that every sandbox has as they are there, read-only: directories of the system, and some of /etc. */
extern const char *const sandbox_places[];
extern const size_t sandbox_n_places;
/* The one of them that PATH is or lies in, or that lies in PATH; NULL: none. */
const char *sandbox_place_in(const char *path);
const char *sandbox_place_below(const char *path);

/* sandbox_workspace.c: may this directory be the workspace? CODE_WORKSPACE_INVALID. */
int sandbox_check_workspace(struct compilation *c, const struct facts_place **ret);

/* sandbox_protected.c: the pins for protected_paths, behind the N mounts that are there. PINS has room for sandbox_count_pins(). */
size_t sandbox_count_pins(const struct sage_filesystem *filesystem);
size_t sandbox_pins(struct compilation *c, struct plan_mount *pins);
