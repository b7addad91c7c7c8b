/* Taking a mount of a running container off again. */
#pragma once

#include "base/error.h"
#include "spec/plan.h"

/* Is something mounted at the destination of M below ROOT? No symlink is followed on the way: whoever may swap one in could have the
 * runtime take off the masks of /proc instead. */
int mount_detach_check(int root, const struct plan_mount *m, struct error *err);

/* Unmounts it with all that is mounted below, at once for new users; those that have files open there keep them (umount2(2), MNT_DETACH).
 * Changes the working directory. */
int mount_detach(int root, const struct plan_mount *m, struct error *err);

/* Unmounts what MOUNT is the descriptor of: open_tree(2) or fsmount(2) gave it, and it is attached. descriptors: /proc/self/fd of this process;
 * the working directory is there afterwards. 0 or a negative errno. */
int mount_detach_mount(int descriptors, int mount);
