/* The bundle of a `sandbox` that is one command: made for it below --root and gone with it, also when the runtime was killed (life/gc.h).
 *
 *   ROOT/.sandbox-ID/             0700; flock(2) on it says that its runtime lives. No container has such a name
 *   ROOT/.sandbox-ID/rootfs/      empty
 *   ROOT/.sandbox-ID/config.json  0600: it may hold secrets
 *   ROOT/.sandbox-ID/workspace    a symlink, whose text is the path of a workspace that was made for the sandbox: the claim on it, written
 *                                 before it is made. It lies where whoever the commands run as can go, which ROOT is not. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

struct private_bundle {
        int root, dir;
        const char *name;      /* ".sandbox-ID" */
        const char *path;      /* of the directory; absolute */
        const char *workspace; /* the one that is claimed, or NULL */
};
#define PRIVATE_BUNDLE_NONE \
        { .root = -1, .dir = -1 }

/* Where a fresh workspace will be: a name that nobody can foresee. */
int private_bundle_place(struct arena *arena, const char **ret, struct error *err);

/* Makes it, locked, for the sandbox ID below ROOT. CODE_EXISTS when there is one. */
int private_bundle_make(struct arena *arena, const char *root, const char *id, struct private_bundle *ret, struct error *err);

/* Makes the workspace PLACE, for UID and GID alone; the numbers are its device and inode. */
int private_bundle_make_workspace(struct private_bundle *bundle, const char *place, uint32_t uid, uint32_t gid, uint64_t *ret_dev,
        uint64_t *ret_ino, struct error *err);

/* The workspace is its user's from here on. */
int private_bundle_keep_workspace(struct private_bundle *bundle, struct error *err);

int private_bundle_write_config(struct private_bundle *bundle, const char *text, size_t size, struct error *err);

/* The workspace with everything in it, then the rest. Nothing of the sandbox may live any more. Idempotent. */
int private_bundle_remove(struct private_bundle *bundle, struct error *err);

void private_bundle_close(struct private_bundle *bundle);
#define _cleanup_private_bundle_ __attribute__((cleanup(private_bundle_close)))

/* The id of the sandbox whose bundle an entry of ROOT is, or NULL. */
const char *private_bundle_id(const char *entry);

/* Opens the one that a killed runtime has left of the sandbox ID. CODE_BUSY: its runtime lives. CODE_NOT_FOUND. */
int private_bundle_open_left(struct arena *arena, const char *root, const char *id, struct private_bundle *ret, struct error *err);
