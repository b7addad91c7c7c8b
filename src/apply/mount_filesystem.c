#define _GNU_SOURCE
#include "apply/mount_filesystem.h"

#include <errno.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "apply/mounts.h"
#include "base/fd.h"
#include "base/str.h"

/* What is the file system's, by the names that fsconfig(2) has (kernel: fs/fs_context.c, common_set_sb_flag). */
static const struct {
        unsigned long flag;
        const char *name;
} superblock_flags[] = {
        { MS_RDONLY, "ro" },
        { MS_SYNCHRONOUS, "sync" },
        { MS_DIRSYNC, "dirsync" },
        { MS_LAZYTIME, "lazytime" },
        { MS_MANDLOCK, "mand" },
};

/* What is the mount's. Of the access times, relatime is 0 and goes without saying. */
static const struct {
        unsigned long flag;
        unsigned attribute;
} attributes[] = {
        { MS_RDONLY, MOUNT_ATTR_RDONLY },
        { MS_NOSUID, MOUNT_ATTR_NOSUID },
        { MS_NODEV, MOUNT_ATTR_NODEV },
        { MS_NOEXEC, MOUNT_ATTR_NOEXEC },
        { MS_NOATIME, MOUNT_ATTR_NOATIME },
        { MS_STRICTATIME, MOUNT_ATTR_STRICTATIME },
        { MS_NODIRATIME, MOUNT_ATTR_NODIRATIME },
        { MS_NOSYMFOLLOW, MOUNT_ATTR_NOSYMFOLLOW },
};

static int set_option(int context, char *option) {
        char *value = strchr(option, '=');

        if (!*option)
                return 0;
        if (!value)
                return fsconfig(context, FSCONFIG_SET_FLAG, option, NULL, 0) < 0 ? -errno : 0;
        *value++ = '\0';
        return fsconfig(context, FSCONFIG_SET_STRING, option, value, 0) < 0 ? -errno : 0;
}

/* As the kernel takes the text of mount(2) apart: at commas, but not those in the quotation marks of a label, which it takes off
 * (security/selinux/hooks.c, selinux_sb_eat_lsm_opts), nor those behind a backslash (fs/overlayfs/params.c). */
static int set_options(int context, const char *data) {
        char option[MOUNT_DATA_MAX];
        bool quoted = false;
        size_t n = 0;

        for (const char *at = data;; at++) {
                if (*at == '\0' || (*at == ',' && !quoted && (at == data || at[-1] != '\\'))) {
                        int r;

                        option[n] = '\0';
                        n = 0;
                        if ((r = set_option(context, option)) < 0 || *at == '\0')
                                return r;
                } else if (*at == '"')
                        quoted = !quoted;
                else if (n < sizeof option - 1)
                        option[n++] = *at;
                else
                        return -E2BIG;
        }
}

int mount_filesystem_open(const struct plan_mount *m, bool read_only, const char *data, int *ret_tree) {
        const unsigned long flags = m->flags & ~(read_only ? 0UL : (unsigned long)MS_RDONLY);
        _cleanup_close_ int context = fsopen(m->type, FSOPEN_CLOEXEC);
        unsigned attr = 0;
        int tree, r;

        if (context < 0 || fsconfig(context, FSCONFIG_SET_STRING, "source", m->source ? m->source : m->type, 0) < 0)
                return -errno;
        for (size_t i = 0; i < ELEMENTSOF(superblock_flags); i++)
                if (flags & superblock_flags[i].flag && fsconfig(context, FSCONFIG_SET_FLAG, superblock_flags[i].name, NULL, 0) < 0)
                        return -errno;
        for (size_t i = 0; i < ELEMENTSOF(attributes); i++)
                attr |= flags & attributes[i].flag ? attributes[i].attribute : 0;
        if (data && (r = set_options(context, data)) < 0)
                return r;
        if (fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0 || (tree = fsmount(context, FSMOUNT_CLOEXEC, attr)) < 0)
                return -errno;
        *ret_tree = tree;
        return 0;
}
