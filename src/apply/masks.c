#define _GNU_SOURCE
#include "apply/masks.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "apply/container_path.h"
#include "apply/dev.h"
#include "apply/fd_batch.h"
#include "apply/mounts.h"
#include "base/fd.h"
#include "base/str.h"

#ifndef SYS_open_tree_attr
#define SYS_open_tree_attr 467 /* the same on every architecture (Linux 6.15) */
#endif

#define LABEL_DATA_MAX 512

struct masks {
        const struct plan_rootfs *rootfs; /* for the SELinux context of the empty directory */
        int root;
        int null;  /* the host's null device */
        int empty; /* root of the empty file system, once there is one */
        bool two_calls; /* no open_tree_attr(2) here */
        struct fd_batch done;
};

/* A detached clone of FROM with attributes SET: one call since Linux 6.15, two before (and where a filter of an outer container does not
 * know the one). */
static int clone_with(struct masks *masks, int from, uint64_t set, bool recursive) {
        struct mount_attr attr = { .attr_set = set };
        const unsigned deep = AT_EMPTY_PATH | (recursive ? AT_RECURSIVE : 0);
        _cleanup_close_ int tree = -1;

        if (set && !masks->two_calls) {
                tree = (int)syscall(SYS_open_tree_attr, from, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | deep, &attr, sizeof attr);
                if (tree >= 0)
                        return take_fd(&tree);
                masks->two_calls = true;
        }
        tree = open_tree(from, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | deep);
        if (tree < 0 || (set && mount_setattr(tree, "", deep, &attr, sizeof attr) < 0))
                return -errno;
        return take_fd(&tree);
}

static int clone_to(struct masks *masks, int from, int target, uint64_t set, bool recursive) {
        _cleanup_close_ int tree = clone_with(masks, from, set, recursive);

        if (tree < 0)
                return tree;
        if (move_mount(tree, "", target, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
                return -errno;
        fd_batch_add(&masks->done, &tree);
        return 0;
}

/* The first masked directory gets a file system, the others are clones of it: a mount costs less than a superblock. */
static int mask_directory(struct masks *masks, int target, const char *path) {
        char buffer[LABEL_DATA_MAX];
        const char *data;
        int r;

        if (masks->empty >= 0)
                return clone_to(masks, masks->empty, target, 0, false);
        r = mount_data("tmpfs", "mode=755", -1, masks->rootfs, buffer, sizeof buffer, &data);
        if (r < 0)
                return r;
        if (fchdir(target) < 0 || mount("tmpfs", ".", "tmpfs", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, data) < 0)
                return -errno;
        masks->empty = container_path_try(masks->root, path, O_PATH | O_DIRECTORY, 0);
        return masks->empty < 0 ? masks->empty : 0;
}

/* What it is is found out before anything is put there: a clone that does not fit costs a grace period when it is closed (fs/namespace.c,
 * dissolve_on_fput()), 150 us. ENOTDIR: a file, or the path goes through one, which the second look tells. */
static int mask(struct masks *masks, const char *path, struct error *err) {
        _cleanup_close_ int target = container_path_try(masks->root, path, O_PATH | O_DIRECTORY, 0);
        int r;

        if (target >= 0)
                r = mask_directory(masks, target, path);
        else if (target == -ENOTDIR && (target = container_path_try(masks->root, path, O_PATH, 0)) >= 0) {
                if (masks->null < 0 && (r = dev_open_null(&masks->null, err)) < 0)
                        return r;
                r = clone_to(masks, masks->null, target, 0, false);
        } else if (target == -ENOENT || target == -ENOTDIR)
                return 0;
        else
                r = target;
        if (r < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, -r, path, "cannot mask this path (linux.maskedPaths)");
        fd_batch_add(&masks->done, &target);
        return 0;
}

/* Setting one more attribute keeps those that the host has locked (mount_setattr(2)), which a remount would have to repeat. */
static int make_readonly(struct masks *masks, const char *path, struct error *err) {
        _cleanup_close_ int target = container_path_try(masks->root, path, O_PATH, 0);
        int r;

        if (target == -ENOENT || target == -ENOTDIR)
                return 0;
        r = target < 0 ? target : clone_to(masks, target, target, MOUNT_ATTR_RDONLY, true);
        if (r < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, -r, path, "cannot make this path read-only (linux.readonlyPaths)");
        fd_batch_add(&masks->done, &target);
        return 0;
}

int masks_apply_below(const struct plan_plan *plan, int root, const char *top, struct error *err) {
        struct masks masks = { .rootfs = plan->rootfs, .root = root, .null = -1, .empty = -1 };
        int r = 0;

        for (size_t i = 0; r == 0 && i < plan->n_readonly_paths; i++)
                if (path_is_below(plan->readonly_paths[i], top))
                        r = make_readonly(&masks, plan->readonly_paths[i], err);
        for (size_t i = 0; r == 0 && i < plan->n_masked_paths; i++)
                if (path_is_below(plan->masked_paths[i], top))
                        r = mask(&masks, plan->masked_paths[i], err);
        fd_batch_add(&masks.done, &masks.null);
        fd_batch_add(&masks.done, &masks.empty);
        fd_batch_close(&masks.done);
        return r;
}

int masks_apply(const struct plan_plan *plan, int root, struct error *err) {
        return masks_apply_below(plan, root, "/", err);
}
