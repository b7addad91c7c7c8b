#define _GNU_SOURCE
#include "apply/mount_source.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "apply/mounts.h"
#include "apply/namespaces.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/process.h"
#include "base/str.h"

#define CGROUP_MOUNT "/sys/fs/cgroup"

/* user_namespaces(7): a map has at most 340 lines, and one write(2) takes at most a page. */
#define MAP_TEXT_MAX 4096

int tree_change(int tree, const struct tree_change *change) {
        struct mount_attr attr = {
                .attr_set = change->set,
                .attr_clr = change->clear,
                .propagation = change->propagation & ~(uint64_t)MS_REC,
        };

        /* mount_setattr(2): the atime modes are one value in three bits, which is replaced as a whole or not at all. */
        if ((attr.attr_set | attr.attr_clr) & MOUNT_ATTR__ATIME)
                attr.attr_clr |= MOUNT_ATTR__ATIME;
        if (!attr.attr_set && !attr.attr_clr && !attr.propagation)
                return 0;
        return mount_setattr(tree, "", AT_EMPTY_PATH | (change->recursive ? AT_RECURSIVE : 0), &attr, sizeof attr) < 0 ? -errno : 0;
}

static int format_map(const struct plan_id_range *ranges, size_t n, char *text, size_t size) {
        size_t used = 0;

        for (size_t i = 0; i < n; i++) {
                int length = snprintf(text + used, size - used, "%u %u %u\n", ranges[i].inside, ranges[i].outside, ranges[i].count);

                if (length < 0 || (size_t)length >= size - used)
                        return -E2BIG;
                used += (size_t)length;
        }
        return (int)used;
}

static int write_map(int dir, const char *name, const struct plan_id_range *ranges, size_t n) {
        char text[MAP_TEXT_MAX];
        int length = format_map(ranges, n, text, sizeof text);

        return length < 0 ? length : file_write(dir, name, text, (size_t)length);
}

/* The process that a user namespace needs to come into being. It shares our descriptors, so that we can write to the /proc/self that it
 * opens: our number for it is not the one that this /proc knows it by when we are in a newer PID namespace than /proc is. */
__attribute__((noreturn)) static void hold_namespace(int ready, pid_t parent) {
        int32_t self;

        if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
                _exit(1);
        self = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
        (void)!write(ready, &self, sizeof self);
        for (;;)
                pause();
}

static int fill_namespace(int proc, const struct plan_idmap *map, const struct plan_ids *ids, int *ret_userns) {
        const struct plan_id_range *uids = map->n_uid_map ? map->uid_map : ids->uid_map,
                                   *gids = map->n_gid_map ? map->gid_map : ids->gid_map;
        int r;

        r = write_map(proc, "uid_map", uids, map->n_uid_map ? map->n_uid_map : ids->n_uid_map);
        if (r >= 0)
                r = write_map(proc, "gid_map", gids, map->n_gid_map ? map->n_gid_map : ids->n_gid_map);
        if (r < 0)
                return r;
        *ret_userns = openat(proc, "ns/user", O_RDONLY | O_CLOEXEC);
        return *ret_userns < 0 ? -errno : 0;
}

/* A user namespace that has the maps of MAP, or the container's own where MAP has none. */
static int make_namespace(const struct plan_idmap *map, const struct plan_ids *ids, int *ret_userns) {
        _cleanup_close_ int reader = -1, writer = -1, proc = -1, pidfd = -1;
        const pid_t self = getpid();
        struct pollfd fds[2];
        int ready[2], status, r = -EIO;
        int32_t opened = -1;
        pid_t pid;

        if (pipe2(ready, O_CLOEXEC) < 0)
                return -errno;
        reader = ready[0];
        writer = ready[1];
        pid = process_clone(CLONE_NEWUSER | CLONE_FILES, -1, &pidfd);
        if (pid < 0)
                return pid;
        if (pid == 0)
                hold_namespace(writer, self);
        /* The end of the pipe would never be told: the process shares our descriptors, the writing one too. */
        fds[0] = (struct pollfd){ .fd = reader, .events = POLLIN };
        fds[1] = (struct pollfd){ .fd = pidfd, .events = POLLIN };
        while (poll(fds, 2, -1) < 0 && errno == EINTR)
                ;
        if (fds[0].revents && read(reader, &opened, sizeof opened) == sizeof opened && opened >= 0) {
                proc = opened;
                r = fill_namespace(proc, map, ids, ret_userns);
        }
        process_signal(pidfd, SIGKILL);
        process_reap(pidfd, &status);
        return r;
}

static int set_idmap(int tree, const struct plan_mount *m, const struct plan_ids *ids, struct error *err) {
        struct mount_attr attr = { .attr_set = MOUNT_ATTR_IDMAP };
        _cleanup_close_ int userns = -1;
        int r;

        if (!m->idmap->n_uid_map && !ids->n_uid_map)
                return fail(err, CODE_CONFIG_INVALID, EINVAL, m->field,
                        "idmap needs uidMappings and gidMappings here or a user namespace with some");
        r = make_namespace(m->idmap, ids, &userns);
        if (r < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, -r, m->field, "cannot make the user namespace for an id-mapped mount");
        attr.userns_fd = (uint64_t)userns;
        if (mount_setattr(tree, "", AT_EMPTY_PATH | (m->idmap->recursive ? AT_RECURSIVE : 0), &attr, sizeof attr) == 0)
                return 0;
        if (errno == EINVAL)
                return fail(err, CODE_CAPABILITY_UNSUPPORTED, EINVAL, m->field, "the file system of %s does not support id-mapped mounts",
                        m->source);
        return fail_errno(err, CODE_LAUNCH_FAILED, errno, m->field, "cannot map the ids of %s", m->source);
}

static int set_attributes(int tree, const struct plan_mount *m, bool shared, struct error *err) {
        const uint64_t propagation = m->propagation || !shared ? m->propagation : MS_PRIVATE | MS_REC;
        const struct tree_change changes[] = {
                { m->attributes_set, m->attributes_clear, propagation & MS_REC ? 0 : propagation, .recursive = false },
                { m->recursive_set, m->recursive_clear, propagation & MS_REC ? propagation : 0, .recursive = true },
        };

        for (size_t i = 0; i < ELEMENTSOF(changes); i++) {
                int r = tree_change(tree, &changes[i]);

                if (r == -EPERM)
                        return fail_errno(err, CODE_LAUNCH_FAILED, EPERM, m->field,
                                "cannot set these options: the host locks ro, nosuid, nodev, noexec or atime of %s in this namespace",
                                m->source);
                if (r < 0)
                        return fail_errno(err, CODE_LAUNCH_FAILED, -r, m->field, "cannot set the mount options of %s", m->source);
        }
        return 0;
}

int mount_source_open_only(const char *path, const struct plan_only *only, const char *field, int *ret_fd, struct error *err) {
        const struct open_how how = {
                .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
                .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
        };
        _cleanup_close_ int fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
        struct stat st;

        if (fd < 0 || fstat(fd, &st) < 0)
                return fail_errno(err, CODE_WORKSPACE_INVALID, errno, field, "cannot open %s any more", path);
        if (st.st_dev != only->dev || st.st_ino != only->ino)
                return fail(err, CODE_WORKSPACE_INVALID, ESTALE, field, "%s is another directory by now", path);
        *ret_fd = take_fd(&fd);
        return 0;
}

int mount_source_open(const struct plan_mount *m, const struct plan_ids *ids, bool shared, int *ret_tree, struct error *err) {
        const unsigned flags = OPEN_TREE_CLONE | (m->recursive ? AT_RECURSIVE : 0);
        _cleanup_close_ int tree = -1, only = -1;
        int r;

        if (m->only && (r = mount_source_open_only(m->source, m->only, m->field, &only, err)) < 0)
                return r;
        if (m->only)
                tree = open_tree(only, "", OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | flags);
        else
                tree = open_tree(AT_FDCWD, m->source, OPEN_TREE_CLOEXEC | flags | (m->source_nofollow ? AT_SYMLINK_NOFOLLOW : 0));
        if (tree < 0 && errno == EINVAL && !m->recursive)
                return fail_errno(err, CODE_LAUNCH_FAILED, EINVAL, m->field,
                        "cannot bind %s: mounts below it may not be left out in this user namespace, use rbind", m->source);
        if (tree < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, m->field, "cannot bind %s", m->source);
        if (m->idmap) {
                r = set_idmap(tree, m, ids, err);
                if (r < 0)
                        return r;
        }
        r = set_attributes(tree, m, shared, err);
        if (r < 0)
                return r;
        *ret_tree = take_fd(&tree);
        return 0;
}

int mount_source_view(const char *field, const char *path, bool recursive, int *ret_tree, struct error *err) {
        const struct tree_change change = {
                .set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC,
                .propagation = MS_PRIVATE,
                .recursive = true,
        };
        _cleanup_close_ int tree = open_tree(AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | (recursive ? AT_RECURSIVE : 0));
        int r;

        if (tree < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, field, "cannot bind the host's %s", path);
        r = tree_change(tree, &change);
        if (r < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, -r, field, "cannot make the view of the host's %s read-only", path);
        *ret_tree = take_fd(&tree);
        return 0;
}

int mount_source_cgroup(const struct plan_plan *plan, const char *field, int *ret_tree, struct error *err) {
        char own[PATH_MAX - sizeof CGROUP_MOUNT], path[PATH_MAX];
        const char *below = plan->cgroup->path;

        if (!below) {
                int r = process_cgroup(0, own, sizeof own);

                if (r < 0)
                        return fail_errno(err, CODE_LAUNCH_FAILED, -r, field, "cannot tell which cgroup the container is in");
                below = own;
        }
        if (snprintf(path, sizeof path, CGROUP_MOUNT "%s", below) >= (int)sizeof path)
                return fail_errno(err, CODE_LAUNCH_FAILED, ENAMETOOLONG, field, "cannot bind the container's cgroup");
        return mount_source_view(field, path, false, ret_tree, err);
}

bool mount_source_is_early(const struct plan_plan *plan, size_t i) {
        const struct plan_mount *m = &plan->mounts[i];

        return m->kind == PLAN_MOUNT_KIND_BIND && !m->copy_symlink && !(m->has & PLAN_MOUNT_HAS_SCRATCH) && (m->idmap || namespaces_has(plan->namespaces, CLONE_NEWUSER));
}

int mount_sources_open(const struct plan_plan *plan, int *sources, struct error *err) {
        for (size_t i = 0; i < plan->n_mounts; i++)
                sources[i] = -1;
        for (size_t i = 0; i < plan->n_mounts; i++) {
                int r;

                if (!mount_source_is_early(plan, i))
                        continue;
                r = mount_source_open(&plan->mounts[i], plan->ids, true, &sources[i], err);
                if (r < 0 && r != -EPERM) { /* without privilege here, the child has it in its own user namespace */
                        mount_sources_close(plan, sources);
                        return r;
                }
        }
        return 0;
}

void mount_sources_close(const struct plan_plan *plan, int *sources) {
        for (size_t i = 0; i < plan->n_mounts; i++)
                close_fd(&sources[i]);
}
