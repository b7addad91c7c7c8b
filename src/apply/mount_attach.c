#define _GNU_SOURCE
#include "apply/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "apply/container_path.h"
#include "apply/fd_batch.h"
#include "apply/mount_copyup.h"
#include "apply/mount_filesystem.h"
#include "apply/mount_pin.h"
#include "apply/mount_source.h"
#include "apply/namespaces.h"
#include "base/fd.h"
#include "base/str.h"

struct attach {
        const struct plan_plan *plan;
        int root;
        bool shared; /* mounts may still be passed on between this namespace and the host's */
        int *live;   /* where the mount goes that is attached; NULL: the container is being made, and nobody else is in it */
        struct fd_batch done;

        /* The tmpfs that the last mounts are about, its descriptor once it was needed. See open_in_fresh(). */
        const char *fresh;
        int fresh_root;
};

static int fail_mount(struct error *err, int errnum, const struct plan_mount *m, const char *what) {
        if (errnum == EPERM && m->type && streq(m->type, "proc"))
                return fail_errno(err, CODE_CAPABILITY_UNSUPPORTED, EPERM, m->field,
                        "cannot mount proc on %s: the host's /proc is partly covered (is this a container?), or the PID namespace is old",
                        m->destination);
        return fail_errno(err, CODE_LAUNCH_FAILED, errnum, m->field, "cannot %s on %s", what, m->destination);
}

/* The kernel says EINVAL to an option that the file system does not know and no more: show them all. */
static int fail_filesystem(struct error *err, int errnum, const struct plan_mount *m) {
        if (errnum == EPERM)
                return fail_mount(err, errnum, m, "mount a file system");
        return fail_errno(err, CODE_LAUNCH_FAILED, errnum, m->field, "cannot mount %s on %s with the options `%s`", m->type, m->destination,
                          m->data ? m->data : "");
}

/* CVE-2019-19921 and its successors: an image whose /proc or /sys is a symlink puts the real one where masks and label writes do not
 * look for it. Nothing on the way to them may be a symlink. */
static uint64_t resolve_for(const struct plan_mount *m) {
        if (m->kind == PLAN_MOUNT_KIND_SYSFS_OR_BIND || (m->type && (streq(m->type, "proc") || streq(m->type, "sysfs"))))
                return RESOLVE_NO_SYMLINKS;
        return 0;
}

/* NAME, where DESTINATION is NAME directly in the tmpfs that was just mounted, else NULL. */
static const char *name_in_fresh(const struct attach *a, const char *destination) {
        const char *name = a->fresh ? str_after(destination, a->fresh) : NULL;

        if (!name || name[0] != '/' || strchr(name + 1, '/') || streq(name + 1, "") || streq(name + 1, ".") || streq(name + 1, ".."))
                return NULL;
        return name + 1;
}

/* A bundle mounts an empty tmpfs on /dev, and pts, shm and mqueue in it next. Nobody has seen that file system yet, so there is no need to
 * find out that those are missing and where they belong: half of the system calls. -ENOENT: not such a case, look for it in the usual
 * way. */
static int open_in_fresh(struct attach *a, const char *destination) {
        const char *name = name_in_fresh(a, destination);
        int fd;

        if (!name)
                return -ENOENT;
        if (a->fresh_root < 0) {
                a->fresh_root = container_path_try(a->root, a->fresh, O_PATH | O_DIRECTORY, 0);
                if (a->fresh_root < 0)
                        return -ENOENT;
        }
        if (mkdirat(a->fresh_root, name, 0755) < 0)
                return -ENOENT;
        fd = openat(a->fresh_root, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        return fd < 0 ? -ENOENT : fd;
}

/* 1: the target was made, 0: it was there. */
static int open_target(struct attach *a, const struct plan_mount *m, mode_t type, int *ret_target, struct error *err) {
        int fd = type == S_IFDIR ? open_in_fresh(a, m->destination) : -ENOENT, r;

        if (fd >= 0) {
                *ret_target = fd;
                return 1;
        }
        r = container_path_make_with(
                a->root, m->destination, type, m->destination_nofollow ? O_NOFOLLOW : 0, resolve_for(m), ret_target, err);
        return r < 0 ? fail_within(err, r, m->field) : r;
}

/* Mounts that say more than mount(2) takes in one call. TARGET lies below the new mount, so the path is looked up again. */
static int change_attached(struct attach *a, const struct plan_mount *m, struct error *err) {
        const struct tree_change changes[] = {
                { .set = m->recursive_set, .clear = m->recursive_clear, .recursive = true },
                { .propagation = m->propagation, .recursive = m->propagation & MS_REC },
        };
        _cleanup_close_ int top = -1;
        int r;

        r = container_path_open(a->root, m->destination, O_PATH, &top, err);
        for (size_t i = 0; r == 0 && i < ELEMENTSOF(changes); i++) {
                r = tree_change(top, &changes[i]);
                if (r < 0)
                        fail_mount(err, -r, m, "change the mount");
        }
        return r;
}

static int copy_up(struct attach *a, const struct plan_mount *m, int below, struct error *err) {
        _cleanup_close_ int top = -1;
        int r = container_path_open(a->root, m->destination, O_PATH | O_DIRECTORY, &top, err);

        return r < 0 ? r : mount_copyup(below, top, m->field, err);
}

static bool is_tmpfs(const struct plan_mount *m) {
        return m->kind == PLAN_MOUNT_KIND_FILESYSTEM && m->type && streq(m->type, "tmpfs");
}

/* What a new file system needs besides its type: the options, for tmpfs with the mode of the directory that it covers, as long as that
 * one was there before and the bundle says nothing else. */
static int compose_data(
        struct attach *a, const struct plan_mount *m, int target, bool existed, char *buffer, const char **ret_data, struct error *err) {
        struct stat st;
        int mode = -1;

        if (existed && is_tmpfs(m) && !mount_data_has(m->data, "mode")) {
                if (fstat(target, &st) < 0)
                        return fail_mount(err, errno, m, "look at what is");
                mode = (int)(st.st_mode & 07777);
        }
        if (mount_data(m->type, m->data, mode, a->plan->rootfs, buffer, MOUNT_DATA_MAX, ret_data) < 0)
                return fail(err, CODE_CONFIG_INVALID, E2BIG, m->field, "the options take more than %d bytes", MOUNT_DATA_MAX - 1);
        return 0;
}

/* mount(2) takes a path and no descriptor. "." of a directory that we changed to is the one path that nobody can redirect; it is also
 * cheaper than /proc/self/fd/N and works where /proc does not. */
static int mount_here(const struct plan_mount *m, const char *type, int target, const char *data) {
        unsigned long flags = m->flags & ~(unsigned long)MS_REC;

        if (is_tmpfs(m))
                flags &= ~(unsigned long)MS_RDONLY; /* mounts_finish() */
        if (fchdir(target) < 0)
                return -errno;
        return mount(m->source ? m->source : type, ".", type, flags, data) < 0 ? -errno : 0;
}

static int type_of(int fd, mode_t *ret_type) {
        struct stat st;

        if (fstat(fd, &st) < 0)
                return -errno;
        *ret_type = S_ISDIR(st.st_mode) ? S_IFDIR : S_IFREG;
        return 0;
}

/* Takes both descriptors when it succeeds. */
static int attach_tree(struct attach *a, const struct plan_mount *m, int *tree, int *target, struct error *err) {
        mode_t from, to;
        int errnum;

        if (move_mount(*tree, "", *target, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) == 0) {
                if (a->live)
                        *a->live = take_fd(tree);
                fd_batch_add(&a->done, tree);
                fd_batch_add(&a->done, target);
                return 0;
        }
        errnum = errno;
        if (type_of(*tree, &from) == 0 && type_of(*target, &to) == 0 && from != to)
                return fail(err, CODE_LAUNCH_FAILED, ENOTDIR, m->field, "cannot bind %s on %s: one is a directory and the other is not",
                        m->source ? m->source : m->type, m->destination);
        return fail_mount(err, errnum, m, "attach the mount");
}

/* All that can be said of the mount is said before it has a place. */
static int attach_detached(struct attach *a, const struct plan_mount *m, int *target, bool existed, const char *data, struct error *err) {
        const struct tree_change changes[] = {
                { .set = m->recursive_set, .clear = m->recursive_clear },
                { .set = is_tmpfs(m) && m->flags & MS_RDONLY ? MOUNT_ATTR_RDONLY : 0 },
        };
        _cleanup_close_ int tree = -1;
        int r = mount_filesystem_open(m, !is_tmpfs(m), data, &tree);

        if (r < 0)
                return fail_filesystem(err, -r, m);
        if (m->copy_up && existed && is_tmpfs(m) && (r = mount_copyup(*target, tree, m->field, err)) < 0)
                return r;
        for (size_t i = 0; i < ELEMENTSOF(changes); i++)
                if ((r = tree_change(tree, &changes[i])) < 0)
                        return fail_mount(err, -r, m, "change the mount");
        return attach_tree(a, m, &tree, target, err);
}

static int attach_filesystem(struct attach *a, const struct plan_mount *m, int *source, struct error *err) {
        _cleanup_close_ int target = -1;
        const char *data = NULL;
        char buffer[MOUNT_DATA_MAX];
        bool existed;
        int r;

        (void)source;
        r = open_target(a, m, S_IFDIR, &target, err);
        existed = r == 0;
        if (r >= 0)
                r = compose_data(a, m, target, existed, buffer, &data, err);
        if (r < 0)
                return r;
        if (a->live && !(m->flags & MS_REMOUNT))
                return attach_detached(a, m, &target, existed, data, err);
        r = mount_here(m, m->type, target, data);
        if (r < 0)
                return fail_filesystem(err, -r, m);
        if (m->copy_up && existed && is_tmpfs(m))
                r = copy_up(a, m, target, err);
        if (r == 0 && (m->propagation || m->recursive_set || m->recursive_clear))
                r = change_attached(a, m, err);
        fd_batch_add(&a->done, &target);
        return r;
}

/* A root file system that serves again has the symlink already; anything else in its place would be kept silently. */
static bool is_symlink_to(int dir, const char *name, const char *target) {
        char found[PATH_MAX];
        ssize_t n = readlinkat(dir, name, found, sizeof found - 1);

        if (n < 0)
                return false;
        found[n] = '\0';
        return streq(found, target);
}

static int make_symlink(struct attach *a, const struct plan_mount *m, const char *target, struct error *err) {
        char parent[PATH_MAX];
        _cleanup_close_ int dir = -1;
        const char *slash = strrchr(m->destination, '/');
        int r;

        if (!slash || !slash[1] || (size_t)(slash - m->destination) >= sizeof parent)
                return fail(err, CODE_CONFIG_INVALID, EINVAL, m->field, "%s cannot be a symlink", m->destination);
        snprintf(parent, sizeof parent, "%.*s/", (int)(slash - m->destination), m->destination);
        r = container_path_make(a->root, parent, S_IFDIR, &dir, err);
        if (r < 0)
                return r;
        if (symlinkat(target, dir, slash + 1) < 0) {
                r = -errno;
                if (r != -EEXIST || !is_symlink_to(dir, slash + 1, target))
                        return fail_mount(err, -r, m, "make the symlink");
        }
        return 0;
}

/* copy-symlink (crun.1): a source that is a symlink is made again in the container, not followed. 1: made, 0: it is none. */
static int copy_symlink(struct attach *a, const struct plan_mount *m, struct error *err) {
        char target[PATH_MAX];
        ssize_t n = readlink(m->source, target, sizeof target - 1);
        int r;

        if (n < 0)
                return errno == EINVAL ? 0 : fail_mount(err, errno, m, "copy the symlink");
        target[n] = '\0';
        r = make_symlink(a, m, target, err);
        return r < 0 ? r : 1;
}

static int attach_bind(struct attach *a, const struct plan_mount *m, int *source, struct error *err) {
        _cleanup_close_ int tree = source ? take_fd(source) : -1, target = -1;
        mode_t type = S_IFDIR;
        int r;

        if (m->copy_symlink) {
                r = copy_symlink(a, m, err);
                if (r != 0)
                        return r < 0 ? r : 0;
        }
        if (tree < 0) {
                r = mount_source_open(m, a->plan->ids, a->shared, &tree, err);
                if (r < 0)
                        return r;
        }
        target = container_path_try(a->root, m->destination, O_PATH | (m->destination_nofollow ? O_NOFOLLOW : 0), resolve_for(m));
        if (target < 0) {
                r = type_of(tree, &type);
                if (r < 0)
                        return fail_mount(err, -r, m, "look at the source");
                r = open_target(a, m, type, &target, err);
                if (r < 0)
                        return r;
        }
        return attach_tree(a, m, &tree, &target, err);
}

/* In a cgroup namespace of the container's own, the file system begins at its cgroup; elsewhere a mount would show all of the host's
 * (CVE-2023-25809), so the container's directory is bound, and nothing can be written to it. */
static int attach_cgroup(struct attach *a, const struct plan_mount *m, int *source, struct error *err) {
        _cleanup_close_ int target = -1, tree = -1;
        bool own = namespaces_has(a->plan->namespaces, CLONE_NEWCGROUP);
        int r;

        (void)source;
        r = open_target(a, m, S_IFDIR, &target, err);
        if (r < 0)
                return r;
        if (own) {
                r = mount_here(m, "cgroup2", target, m->data);
                if (r == 0) {
                        fd_batch_add(&a->done, &target);
                        return m->propagation ? change_attached(a, m, err) : 0;
                }
                if (r != -EPERM && r != -EBUSY)
                        return fail_mount(err, -r, m, "mount cgroup2");
        }
        r = mount_source_cgroup(a->plan, m->field, &tree, err);
        return r < 0 ? r : attach_tree(a, m, &tree, &target, err);
}

/* sysfs shows the devices of a network namespace and wants rights over it: a container that keeps the host's network in a user namespace
 * of its own has none. It gets the host's /sys with all that is mounted there, read-only. */
static int attach_sysfs(struct attach *a, const struct plan_mount *m, int *source, struct error *err) {
        _cleanup_close_ int target = -1, tree = -1;
        int r;

        (void)source;
        r = open_target(a, m, S_IFDIR, &target, err);
        if (r < 0)
                return r;
        r = mount_here(m, "sysfs", target, m->data);
        if (r == 0) {
                fd_batch_add(&a->done, &target);
                return m->propagation ? change_attached(a, m, err) : 0;
        }
        if (r != -EPERM)
                return fail_mount(err, -r, m, "mount sysfs");
        r = mount_source_view(m->field, "/sys", true, &tree, err);
        return r < 0 ? r : attach_tree(a, m, &tree, &target, err);
}

static int attach_symlink(struct attach *a, const struct plan_mount *m, int *source, struct error *err) {
        (void)source;
        return make_symlink(a, m, m->source, err);
}

static int attach_pin(struct attach *a, const struct plan_mount *m, int *source, struct error *err) {
        (void)source;
        return mount_pin(m, a->root, &a->done, err);
}

static int attach_file(struct attach *a, const struct plan_mount *m, int *source, struct error *err) {
        (void)source;
        return mount_file(m, a->root, &a->done, err);
}

static int (*const attach_kind[])(struct attach *, const struct plan_mount *, int *source, struct error *) = {
        [PLAN_MOUNT_KIND_FILESYSTEM] = attach_filesystem,
        [PLAN_MOUNT_KIND_BIND] = attach_bind,
        [PLAN_MOUNT_KIND_CGROUP] = attach_cgroup,
        [PLAN_MOUNT_KIND_SYSFS_OR_BIND] = attach_sysfs,
        [PLAN_MOUNT_KIND_FILE] = attach_file,
        [PLAN_MOUNT_KIND_SYMLINK] = attach_symlink,
        [PLAN_MOUNT_KIND_PIN] = attach_pin,
};

/* Only mounts directly in the fresh tmpfs leave it fresh: any other could be over it or change what the path to it means. */
static void note_fresh(struct attach *a, const struct plan_mount *m) {
        if (name_in_fresh(a, m->destination))
                return;
        fd_batch_add(&a->done, &a->fresh_root);
        a->fresh = is_tmpfs(m) && !m->copy_up ? m->destination : NULL;
}

int mounts_attach(const struct plan_plan *plan, int root, int *sources, struct error *err) {
        struct attach a = {
                .plan = plan,
                .root = root,
                .shared = plan->rootfs->propagation & (MS_SHARED | MS_SLAVE),
                .fresh_root = -1,
        };
        int r = 0;

        for (size_t i = 0; r == 0 && i < plan->n_mounts; i++) {
                r = attach_kind[plan->mounts[i].kind](&a, &plan->mounts[i], sources ? &sources[i] : NULL, err);
                note_fresh(&a, &plan->mounts[i]);
        }
        fd_batch_add(&a.done, &a.fresh_root);
        fd_batch_close(&a.done);
        return r;
}

int mount_attach_live(const struct plan_plan *plan, const struct plan_mount *m, int root, int *tree, struct error *err) {
        const struct tree_change propagation = { .propagation = m->propagation, .recursive = m->propagation & MS_REC };
        _cleanup_close_ int source = take_fd(tree);
        struct attach a = { .plan = plan, .root = root, .shared = true, .live = tree, .fresh_root = -1 };
        int r = attach_kind[m->kind](&a, m, &source, err);

        fd_batch_close(&a.done);
        /* Only now: what is attached where mounts are shared becomes shared itself (mount_namespaces(7)). */
        if (r == 0 && *tree >= 0 && (r = tree_change(*tree, &propagation)) < 0)
                return fail_mount(err, -r, m, "change the propagation of the mount");
        return r;
}

int mounts_finish(const struct plan_plan *plan, int root, struct error *err) {
        const struct tree_change read_only = { .set = MOUNT_ATTR_RDONLY };

        for (size_t i = 0; i < plan->n_mounts; i++) {
                const struct plan_mount *m = &plan->mounts[i];
                _cleanup_close_ int top = -1;
                int r;

                if (!is_tmpfs(m) || !(m->flags & MS_RDONLY))
                        continue;
                r = container_path_open(root, m->destination, O_PATH, &top, err);
                if (r < 0)
                        return r;
                r = tree_change(top, &read_only);
                if (r < 0)
                        return fail_mount(err, -r, m, "make the file system read-only");
        }
        return 0;
}
