#define _GNU_SOURCE
#include "apply/dev.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "apply/container_path.h"
#include "base/fd.h"
#include "base/str.h"

#define NULL_DEVICE makedev(1, 3) /* Documentation/admin-guide/devices.txt */
#define PTMX_DEVICE makedev(5, 2)

int dev_open(int root, int *ret_dev, struct error *err) {
        int r = container_path_make_with(root, "/dev", S_IFDIR, O_DIRECTORY, RESOLVE_NO_SYMLINKS, ret_dev, err);

        return r < 0 ? r : 0;
}

int dev_open_null(int *ret_null, struct error *err) {
        _cleanup_close_ int fd = open("/dev/null", O_PATH | O_NOFOLLOW | O_CLOEXEC);
        struct stat st;

        if (fd < 0 || fstat(fd, &st) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "/dev/null", "cannot open the host's null device");
        if (!S_ISCHR(st.st_mode) || st.st_rdev != NULL_DEVICE)
                return fail(
                        err, CODE_LAUNCH_FAILED, ENODEV, "/dev/null", "this is not the null device (character device 1:3) on this host");
        *ret_null = take_fd(&fd);
        return 0;
}

static const char *device_field(const struct plan_device *device) {
        return device->field ? device->field : device->path;
}

/* An existing node is taken as it is when it is the right device: it may be the host's own. */
static int check_existing(int dir, const char *name, const struct plan_device *device, struct error *err) {
        struct stat st;

        if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, device_field(device), "cannot look at %s in the container", device->path);
        if ((st.st_mode & S_IFMT) == device->type && (device->type == S_IFIFO || st.st_rdev == makedev(device->major, device->minor)))
                return 0;
        return fail(err, CODE_LAUNCH_FAILED, EEXIST, device_field(device),
                "%s exists in the container and is not the device %u:%u that is to be there", device->path, device->major, device->minor);
}

/* The umask is 0, so mknod(2) alone gives the mode; the owner is root's unless another is asked for. */
static int make_node(int dir, const char *name, const struct plan_device *device, struct error *err) {
        if (mknodat(dir, name, device->type | (device->mode & 07777), makedev(device->major, device->minor)) < 0) {
                if (errno == EEXIST)
                        return check_existing(dir, name, device, err);
                if (errno == EROFS && !device->field)
                        return 0;
                return fail_errno(
                        err, CODE_LAUNCH_FAILED, errno, device_field(device), "cannot make the device %s in the container", device->path);
        }
        if ((device->uid || device->gid) && fchownat(dir, name, device->uid, device->gid, AT_SYMLINK_NOFOLLOW) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, device_field(device), "cannot give %s its owner", device->path);
        return 0;
}

/* The place for a bind: an empty file, or what is to be there already. 1: there is none to be had, and it is not missed. */
static int make_place(int dir, const char *name, const struct plan_device *device, struct error *err) {
        struct stat st;

        if (mknodat(dir, name, S_IFREG | 0600, 0) == 0)
                return 0;
        if (errno == EEXIST) {
                if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) && st.st_size == 0)
                        return 0;
                return check_existing(dir, name, device, err);
        }
        if (errno == EROFS && !device->field)
                return 1;
        return fail_errno(err, CODE_LAUNCH_FAILED, errno, device_field(device), "cannot make a place for %s in the container", device->path);
}

/* The host's node of the same name: dev_nodes_check_host() has said whether it is the right one, to be asked once more now. */
static int open_hosts(const struct plan_device *device, int *ret_tree, struct error *err) {
        _cleanup_close_ int tree = open_tree(AT_FDCWD, device->path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_SYMLINK_NOFOLLOW);
        struct stat st;

        if (tree < 0 || fstat(tree, &st) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, device_field(device),
                        "cannot open the host's %s, to be bound in a user namespace", device->path);
        if ((st.st_mode & S_IFMT) != device->type || st.st_rdev != makedev(device->major, device->minor))
                return fail(err, CODE_LAUNCH_FAILED, ENODEV, device_field(device), "the host's %s is not the device %u:%u", device->path,
                        device->major, device->minor);
        *ret_tree = take_fd(&tree);
        return 0;
}

/* Never with nodev, which would make it useless. The target is named below a verified directory and move_mount(2) follows no symlink
 * there. */
static int bind_node(int dir, const char *name, const struct plan_device *device, int tree, uint64_t more, struct error *err) {
        struct mount_attr attr = { .attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC | more };
        _cleanup_close_ int hosts = -1;
        int r;

        if (tree < 0 && (r = open_hosts(device, &hosts, err)) < 0)
                return r;
        if ((r = make_place(dir, name, device, err)) != 0)
                return r < 0 ? r : 0;
        if (tree < 0)
                tree = hosts;
        if (mount_setattr(tree, "", AT_EMPTY_PATH, &attr, sizeof attr) < 0 || move_mount(tree, "", dir, name, MOVE_MOUNT_F_EMPTY_PATH) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, device_field(device), "cannot bind the device %s", device->path);
        return 0;
}

/* One device to be made: where it comes from as well. */
struct source {
        const struct plan_device *device;
        bool bind;
        int tree;      /* of dev_nodes_take(), or -1 */
        uint64_t more; /* MOUNT_ATTR_* of the bind: read-only, the node still opens for writing, and its mode and times stay as they are */
};

static int add_node(int dir, const char *name, const struct source *source, struct error *err) {
        const struct plan_device *device = source->device;

        if (!*name || streq(name, ".") || streq(name, ".."))
                return fail(err, CODE_CONFIG_INVALID, EINVAL, device_field(device), "%s names no file", device->path);
        if (source->bind && device->type != S_IFIFO)
                return bind_node(dir, name, device, source->tree, source->more, err);
        return make_node(dir, name, device, err);
}

/* Devices elsewhere than directly in /dev. BASE stands for the part of PATH before BELOW. */
static int add_deep_node(int base, const char *below, const struct source *source, struct error *err) {
        const struct plan_device *device = source->device;
        const char *slash = strrchr(below, '/');
        _cleanup_close_ int dir = -1;
        char parent[PATH_MAX];
        int r;

        if (!slash || (size_t)(slash - below) >= sizeof parent)
                return fail(err, CODE_CONFIG_INVALID, EINVAL, device_field(device), "%s names no file below a directory", device->path);
        snprintf(parent, sizeof parent, "%.*s/", (int)(slash - below), below);
        r = container_path_make_with(base, parent, S_IFDIR, O_DIRECTORY, 0, &dir, err);
        return r < 0 ? r : add_node(dir, slash + 1, source, err);
}

static bool is_bind_of_dev(const struct plan_mount *m) {
        return m->kind == PLAN_MOUNT_KIND_BIND && (streq(m->destination, "/dev") || streq(m->destination, "/dev/"));
}

/* runtime-spec config-linux.md, "Dev symbolic links"; core as runc and crun have it. */
static const struct link {
        const char *name, *target;
} links[] = {
        { "fd", "/proc/self/fd" },
        { "stdin", "/proc/self/fd/0" },
        { "stdout", "/proc/self/fd/1" },
        { "stderr", "/proc/self/fd/2" },
        { "core", "/proc/kcore" },
};

/* Images bring links of their own, and those that exist are left alone, but for ptmx: a node that is not the container's devpts would hand
 * out terminals of somewhere else. */
static int add_ptmx(int dev, struct error *err) {
        char target[32];
        struct stat st;
        ssize_t n;

        for (int tries = 0; tries < 2; tries++) {
                if (symlinkat("pts/ptmx", dev, "ptmx") == 0 || errno == EROFS)
                        return 0;
                if (errno != EEXIST)
                        break;
                n = readlinkat(dev, "ptmx", target, sizeof target);
                if ((n == 8 && memcmp(target, "pts/ptmx", 8) == 0) || (n == 13 && memcmp(target, "/dev/pts/ptmx", 13) == 0))
                        return 0;
                if (fstatat(dev, "ptmx", &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISCHR(st.st_mode) && st.st_rdev == PTMX_DEVICE)
                        return 0; /* the kernel looks for the pts beside it (fs/devpts) */
                if (unlinkat(dev, "ptmx", 0) < 0)
                        break;
        }
        return fail_errno(err, CODE_LAUNCH_FAILED, errno, "/dev/ptmx", "cannot make this link in the container");
}

static int add_links(int dev, struct error *err) {
        for (size_t i = 0; i < ELEMENTSOF(links); i++)
                if (symlinkat(links[i].target, dev, links[i].name) < 0 && errno != EEXIST && errno != EROFS)
                        return fail_errno(err, CODE_LAUNCH_FAILED, errno, links[i].name, "cannot make this link in the container's /dev");
        return add_ptmx(dev, err);
}

int dev_populate(const struct plan_plan *plan, int root, const int *trees, struct error *err) {
        _cleanup_close_ int dev = -1;
        bool foreign = false;
        int r;

        for (size_t i = 0; i < plan->n_mounts; i++)
                foreign |= is_bind_of_dev(&plan->mounts[i]);
        if (!foreign) {
                r = dev_open(root, &dev, err);
                if (r < 0)
                        return r;
        }
        for (size_t i = 0; i < plan->n_devices; i++) {
                const struct source source = { &plan->devices[i], plan->bind_devices || trees, trees ? trees[i] : -1,
                        plan->sandbox ? MOUNT_ATTR_RDONLY : 0 };
                const char *path = plan->devices[i].path, *below = str_after(path, "/dev/");

                if (below && foreign)
                        continue;
                if (!below || strstr(below, "..")) /* which may leave /dev, but not the root */
                        r = add_deep_node(root, path, &source, err);
                else if (strchr(below, '/'))
                        r = add_deep_node(dev, below, &source, err);
                else
                        r = add_node(dev, below, &source, err);
                if (r < 0)
                        return r;
        }
        return foreign ? 0 : add_links(dev, err);
}
