/* The mounts of a plan. mount_source.c makes detached trees for binds, mount_filesystem.c such of new file systems, mount_attach.c puts
 * things in their place, mount_copyup.c fills a tmpfs with what it covers, mount_data.c writes the options of a file system. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "spec/plan.h"

/* Does mount I need a source that only the parent can open? True for id-mapped binds (MOUNT_ATTR_IDMAP takes capabilities over the file
 * system's own user namespace) and, where the container gets a user namespace, for every bind: its root may not reach the host path. */
bool mount_source_is_early(const struct plan_plan *plan, size_t i);

/* In the parent, before clone. Fills SOURCES (one a mount of the plan) with detached trees for the mounts that need it, -1 for others.
 * The child inherits them; both close them when done (mount_sources_close). On failure none stays open. */
int mount_sources_open(const struct plan_plan *plan, int *sources, struct error *err);
void mount_sources_close(const struct plan_plan *plan, int *sources);

/* In the child, between rootfs_prepare() and rootfs_enter(): all mounts of the plan, in order, below ROOT.
 * sources: what mount_sources_open() filled, or NULL where no mount needs it; what was used is closed.
 * The working directory is somewhere inside ROOT afterwards. */
int mounts_attach(const struct plan_plan *plan, int root, int *sources, struct error *err);

/* Mount M, one of no plan, in a container that is there already, whose processes may rename what leads to its destination. That is looked up
 * once; what is put there has its attributes already, and what is set later is set on the mount itself, wherever it is by then.
 * tree: what mount_source_open() made for a bind, -1 for a file system. It is taken, and becomes the mount that is attached, also where
 * something failed after that; -1: nothing is attached. */
int mount_attach_live(const struct plan_plan *plan, const struct plan_mount *m, int root, int *tree, struct error *err);

/* What rootfs_enter() does before the root changes: tmpfs mounts that were asked for read-only become so. Until then they are writable,
 * because mount points, device nodes and the console may have to be made in them. */
int mounts_finish(const struct plan_plan *plan, int root, struct error *err);

/* mount(2): the options of a file system fit in one page. */
#define MOUNT_DATA_MAX 4096

/* Does the comma-separated DATA (NULL: none) have an option NAME=? */
bool mount_data_has(const char *data, const char *name);

/* The options text for a file system of TYPE: DATA, with mode= (MODE -1: none) and the SELinux context of ROOTFS, if any, put behind it
 * where TYPE takes them. ret_data: DATA itself (which may be NULL) when there is nothing to add, else in BUFFER of SIZE bytes. 0, or -E2BIG
 * when that is too small. */
int mount_data(const char *type, const char *data, int mode, const struct plan_rootfs *rootfs, char *buffer, size_t size, const char **ret_data);
