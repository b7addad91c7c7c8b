/* Where cgroups are and what of them is ours to use. cgroups(7); Documentation/admin-guide/cgroup-v2.rst of the kernel. */
#define _GNU_SOURCE
#include "facts/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/fd.h"

#define MOUNT "/sys/fs/cgroup"
#define FLAG_READ_ONLY 0x0001 /* ST_RDONLY of f_flags (statfs(2)) */

const char *facts_cgroup_mount(void) {
        return MOUNT;
}

const char *probe_cgroup_line(const char *text, size_t *ret_n) {
        for (const char *line = text; *line; line++) {
                const char *end = strchr(line, '\n');

                if (!end)
                        return NULL;
                if (str_after(line, "0::/")) {
                        line += strlen("0::");
                        *ret_n = (size_t)(end - line);
                        return line;
                }
                line = end;
        }
        return NULL;
}

/* Our own cgroup: "/" where only version 1 counts us. The loop reads on only where the file did not come in one piece. */
static int own_cgroup(struct arena *arena, const char **ret, struct error *err) {
        _cleanup_close_ int fd = open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC);
        char text[2 * PATH_MAX];
        size_t size = 0, length;

        if (fd < 0)
                return fail_errno(
                        err, CODE_CAPABILITY_UNSUPPORTED, errno, "/proc/self/cgroup", "cannot read our own cgroup; is /proc mounted?");
        while (size < sizeof text - 1) {
                ssize_t n = read(fd, text + size, sizeof text - 1 - size);
                const char *line;

                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return fail_errno(err, CODE_CAPABILITY_UNSUPPORTED, errno, "/proc/self/cgroup", "cannot read our own cgroup");
                if (n == 0)
                        break;
                size += (size_t)n;
                text[size] = '\0';
                if ((line = probe_cgroup_line(text, &length))) {
                        *ret = arena_strndup(arena, line, length);
                        return 0;
                }
        }
        *ret = "/";
        return 0;
}

/* systemd's "hybrid" layout has version 1 below a tmpfs, and a version 2 hierarchy without controllers beside it. */
static enum facts_cgroup_version version_below_tmpfs(void) {
        struct statfs fs;

        if (statfs(MOUNT "/unified", &fs) == 0 && fs.f_type == CGROUP2_SUPER_MAGIC)
                return FACTS_CGROUP_VERSION_HYBRID;
        for (size_t i = 0; i < 3; i++) {
                static const char *const usual[] = { MOUNT "/memory", MOUNT "/pids", MOUNT "/systemd" };

                if (statfs(usual[i], &fs) == 0 && fs.f_type == CGROUP_SUPER_MAGIC)
                        return FACTS_CGROUP_VERSION_V1;
        }
        return FACTS_CGROUP_VERSION_NONE;
}

static enum facts_cgroup_version cgroup_version(bool *ret_read_only) {
        struct statfs fs;

        if (statfs(MOUNT, &fs) < 0)
                return FACTS_CGROUP_VERSION_NONE;
        *ret_read_only = fs.f_flags & FLAG_READ_ONLY;
        switch ((unsigned long)fs.f_type) {
        case CGROUP2_SUPER_MAGIC:
                return FACTS_CGROUP_VERSION_V2;
        case CGROUP_SUPER_MAGIC:
                return FACTS_CGROUP_VERSION_V1;
        case TMPFS_MAGIC:
                return version_below_tmpfs();
        default:
                return FACTS_CGROUP_VERSION_NONE;
        }
}

/* Root of the host passes every permission check of a cgroup file: no need to ask. */
static bool passes_permissions(const struct facts_identity *identity) {
        return identity->euid == 0 && facts_capable(identity, CAP_DAC_OVERRIDE);
}

/* The kernel asks for write access to cgroup.procs of the common ancestor when it moves a process or clones one into a cgroup
 * (cgroup_procs_write_permission, kernel/cgroup/cgroup.c). Asked by mode and owner, nothing is written. */
static bool procs_writable(const char *path, size_t length) {
        char file[PATH_MAX + 64];

        snprintf(file, sizeof file, MOUNT "%.*s/cgroup.procs", (int)length, path);
        return faccessat(AT_FDCWD, file, W_OK, AT_EACCESS) == 0;
}

/* Length of the topmost cgroup in the line from PATH upwards whose cgroup.procs we may write; "/" has length 1. */
static size_t topmost_writable(const char *path) {
        size_t length = strlen(path), top = length;

        while (length > 1) {
                while (path[length - 1] != '/')
                        length--;
                length = length > 1 ? length - 1 : 1; /* the parent, without its last slash unless it is the root */
                if (!procs_writable(path, length))
                        break;
                top = length;
        }
        return top;
}

int probe_cgroup(struct arena *arena, const struct facts_identity *identity, struct facts_cgroup **ret, struct error *err) {
        struct facts_cgroup *cgroup = arena_new(arena, struct facts_cgroup);
        bool read_only = false;
        int r = own_cgroup(arena, &cgroup->own, err);

        if (r < 0)
                return r;
        cgroup->version = cgroup_version(&read_only);
        cgroup->writable = cgroup->version == FACTS_CGROUP_VERSION_V2 && !read_only &&
                (passes_permissions(identity) || procs_writable(cgroup->own, strlen(cgroup->own)));
        if (cgroup->writable)
                cgroup->root = passes_permissions(identity) ? "/" : arena_strndup(arena, cgroup->own, topmost_writable(cgroup->own));
        *ret = cgroup;
        return 0;
}

int probe_controllers(struct arena *arena, struct facts_cgroup *cgroup, struct error *err) {
        char path[PATH_MAX + 64], text[1024];
        int r;

        if (!cgroup->writable) {
                cgroup->controllers = probe_words(arena, "", " ", &cgroup->n_controllers);
                return 0;
        }
        snprintf(path, sizeof path, MOUNT "%s/cgroup.controllers", cgroup->root);
        r = probe_read(path, text, sizeof text);
        if (r < 0)
                return fail_errno(err, CODE_CAPABILITY_UNSUPPORTED, -r, path, "cannot read which controllers there are");
        cgroup->controllers = probe_words(arena, text, " ", &cgroup->n_controllers);
        return 0;
}
