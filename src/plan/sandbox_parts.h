/* The steps of sandbox_compile(), one a file. Internal to plan/sandbox*.c. */
#pragma once

#include "plan/sandbox.h"

/* sandbox_identity.c: whom the commands run as; never uid or gid 0. CODE_IDENTITY_INVALID. */
int sandbox_identity(struct compilation *c, uint32_t *ret_uid, uint32_t *ret_gid);

/* sandbox_bundle.c: what a bundle may say besides, the identity being known. CODE_CONFIG_INVALID with the field. */
int sandbox_check_bundle(struct compilation *c);

/* sandbox_rewrite.c: c->request becomes one whose config.json says all that config.json can say of a strict sandbox, so that the other
 * parts of compile() make it as they make any container. */
void sandbox_rewrite(struct compilation *c);
