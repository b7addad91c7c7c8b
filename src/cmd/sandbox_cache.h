/* --cache NAME: directories that outlive a sandbox, and how programs find them. */
#pragma once

#include "base/arena.h"
#include "cmd/options.h"

/* Where the caches called NAMES are for a user: below HOME (NULL: root runs the sandbox, and they are below /var/cache), one user's apart from
 * another's. ret_env: what tells programs of those that are known; any other NAME is only a directory. Pure. CODE_USAGE. */
int sandbox_caches(struct arena *arena, const struct text_list *names, const char *home, uint32_t uid, struct text_list *ret_paths,
        struct text_list *ret_env, struct error *err);

/* Makes the directory PATH, for UID and GID alone, and those above it, where they are not there. */
int sandbox_cache_make(const char *path, uint32_t uid, uint32_t gid, struct error *err);
