#define _GNU_SOURCE
#include "apply/mount_detach.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <linux/stat.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "apply/container_path.h"
#include "base/fd.h"
#include "base/str.h"

/* The directory that the mount point stands in, and its name there. */
static int open_parent(int root, const struct plan_mount *m, int *ret, char name[NAME_MAX + 1], struct error *err) {
        size_t end = strlen(m->destination), start;
        char parent[PATH_MAX];
        int fd;

        while (end > 0 && m->destination[end - 1] == '/')
                end--;
        for (start = end; start > 0 && m->destination[start - 1] != '/';)
                start--;
        if (end - start > NAME_MAX || start >= sizeof parent)
                return fail_errno(err, CODE_CONFIG_INVALID, ENAMETOOLONG, m->field, "cannot find %s", m->destination);
        snprintf(parent, sizeof parent, "/%.*s", (int)start, m->destination);
        snprintf(name, NAME_MAX + 1, "%.*s", (int)(end - start), m->destination + start);
        if (streq(name, "") || streq(name, ".") || streq(name, ".."))
                return fail(
                        err, CODE_CONFIG_INVALID, EINVAL, m->field, "%s is no place of a mount that could be taken off", m->destination);
        fd = container_path_try(root, parent, O_PATH | O_DIRECTORY, RESOLVE_NO_SYMLINKS);
        if (fd == -ELOOP)
                return fail(
                        err, CODE_CONFIG_INVALID, ELOOP, m->field, "a part of %s is a symlink; name the directory itself", m->destination);
        if (fd < 0)
                return fail_errno(err, CODE_CONFIG_INVALID, -fd, m->field, "cannot find %s", m->destination);
        *ret = fd;
        return 0;
}

static int check_name(int parent, const char *name, const struct plan_mount *m, struct error *err) {
        struct statx stx;

        if (statx(parent, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, STATX_TYPE, &stx) < 0)
                return fail_errno(err, CODE_CONFIG_INVALID, errno, m->field, "cannot find %s", m->destination);
        if (!(stx.stx_attributes & STATX_ATTR_MOUNT_ROOT))
                return fail(err, CODE_CONFIG_INVALID, EINVAL, m->field, "nothing is mounted on %s", m->destination);
        return 0;
}

int mount_detach_mount(int descriptors, int mount) {
        char name[16];

        snprintf(name, sizeof name, "%d", mount);
        return fchdir(descriptors) < 0 || umount2(name, MNT_DETACH) < 0 ? -errno : 0;
}

int mount_detach_check(int root, const struct plan_mount *m, struct error *err) {
        _cleanup_close_ int parent = -1;
        char name[NAME_MAX + 1];
        int r = open_parent(root, m, &parent, name, err);

        return r < 0 ? r : check_name(parent, name, m, err);
}

int mount_detach(int root, const struct plan_mount *m, struct error *err) {
        _cleanup_close_ int parent = -1;
        char name[NAME_MAX + 1];
        int r;

        if ((r = open_parent(root, m, &parent, name, err)) < 0 || (r = check_name(parent, name, m, err)) < 0)
                return r;
        /* A name in the directory where we are: umount2(2) takes no descriptor, and this is a path that nobody can redirect. */
        if (fchdir(parent) < 0 || umount2(name, MNT_DETACH | UMOUNT_NOFOLLOW) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, m->field, "cannot unmount %s", m->destination);
        return 0;
}
