#define _GNU_SOURCE
#include "apply/dev_nodes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/str.h"
#include "plan/ids.h"

static const char *field_of(const struct plan_device *device) {
        return device->field ? device->field : device->path;
}

/* ---- in the parent ------------------------------------------------------------------------------------------------------ */

static int make_tmpfs(int *ret, struct error *err) {
        _cleanup_close_ int context = fsopen("tmpfs", FSOPEN_CLOEXEC);
        int fd = -1;

        if (context >= 0 && fsconfig(context, FSCONFIG_SET_STRING, "mode", "0755", 0) == 0 &&
            fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0)
                fd = fsmount(context, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
        if (fd < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "linux.devices", "cannot make a tmpfs for the device nodes");
        *ret = fd;
        return 0;
}

/* Who has no such id in the container stays the host's root, whom nobody in there is. */
static int make_node(const struct plan_ids *ids, int tree, size_t i, const struct plan_device *device, struct error *err) {
        uint32_t uid, gid;
        char name[24];

        snprintf(name, sizeof name, "%zu", i);
        if (mknodat(tree, name, device->type | (device->mode & 07777), makedev(device->major, device->minor)) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, field_of(device), "cannot make the device %s", device->path);
        if (ids_outside(ids->uid_map, ids->n_uid_map, device->uid, &uid) && ids_outside(ids->gid_map, ids->n_gid_map, device->gid, &gid) &&
            fchownat(tree, name, uid, gid, AT_SYMLINK_NOFOLLOW) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, field_of(device), "cannot give %s its owner", device->path);
        return 0;
}

int dev_nodes_make(const struct plan_plan *plan, int *ret_tree, struct error *err) {
        _cleanup_close_ int tree = -1;
        int r = make_tmpfs(&tree, err);
        mode_t before;

        if (r < 0)
                return r;
        before = umask(0);
        for (size_t i = 0; r == 0 && i < plan->n_devices; i++)
                if (plan->devices[i].type != S_IFIFO)
                        r = make_node(plan->ids, tree, i, &plan->devices[i], err);
        umask(before);
        if (r == 0)
                *ret_tree = take_fd(&tree);
        return r;
}

static int check_one(const struct plan_device *device, struct error *err) {
        const dev_t wanted = makedev(device->major, device->minor);
        struct stat st;

        if (lstat(device->path, &st) < 0)
                return fail_errno(err, CODE_CAPABILITY_UNSUPPORTED, errno, device->field,
                                  "only root of the host can make nodes: an ordinary user's containers can have the host's own, and it has no %s",
                                  device->path);
        if ((st.st_mode & S_IFMT) != device->type || st.st_rdev != wanted)
                return fail(err, CODE_CAPABILITY_UNSUPPORTED, ENODEV, device->field,
                            "only root of the host can make nodes: an ordinary user's containers can have the host's own, and its %s is not "
                            "the %s device %u:%u",
                            device->path, device->type == S_IFBLK ? "block" : "character", device->major, device->minor);
        if ((st.st_mode & 07777) != device->mode)
                log_message(LOG_LEVEL_WARNING, "%s.fileMode: the host's %s has mode %04o, and so it has in the container", device->field,
                            device->path, st.st_mode & 07777);
        return 0;
}

int dev_nodes_check_host(const struct plan_plan *plan, struct error *err) {
        int r;

        for (size_t i = 0; i < plan->n_devices; i++)
                if (plan->devices[i].field && plan->devices[i].type != S_IFIFO && (r = check_one(&plan->devices[i], err)) < 0)
                        return r;
        return 0;
}

/* ---- in the child ------------------------------------------------------------------------------------------------------- */

static int clone_all(const struct plan_plan *plan, int tree, int *trees, struct error *err) {
        char name[24];

        for (size_t i = 0; i < plan->n_devices; i++) {
                if (plan->devices[i].type == S_IFIFO)
                        continue;
                snprintf(name, sizeof name, "%zu", i);
                trees[i] = open_tree(tree, name, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
                if (trees[i] < 0)
                        return fail_errno(err, CODE_LAUNCH_FAILED, errno, field_of(&plan->devices[i]), "cannot bind the device %s",
                                          plan->devices[i].path);
        }
        return 0;
}

int dev_nodes_take(const struct plan_plan *plan, int root, int tree, int *trees, struct error *err) {
        int r;

        for (size_t i = 0; i < plan->n_devices; i++)
                trees[i] = -1;
        /* Nothing is looked up below ROOT while this covers it: only TREE's own names are. */
        if (move_mount(tree, "", root, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "linux.devices", "cannot attach the tmpfs of the device nodes");
        r = clone_all(plan, tree, trees, err);
        if (fchdir(tree) < 0 || umount2(".", MNT_DETACH) < 0 || fchdir(root) < 0)
                return r < 0 ? r : fail_errno(err, CODE_LAUNCH_FAILED, errno, "linux.devices", "cannot take the tmpfs of the device nodes off again");
        return r;
}
