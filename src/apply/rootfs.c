#define _GNU_SOURCE
#include "apply/rootfs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "apply/container_path.h"
#include "apply/mounts.h"
#include "apply/namespaces.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/str.h"
#include "facts/probe.h"

#define MOUNTINFO_MAX (16u << 20)
#define PROPAGATIONS (MS_SHARED | MS_SLAVE | MS_PRIVATE | MS_UNBINDABLE)

/* What all mounts become before anything is attached. A slave still takes what the host mounts later but gives nothing back; only who
 * asks for a shared root stays connected both ways. Without MS_REC for slaves too, some mounts would stay shared with the host. */
static unsigned long propagation_before(const struct plan_rootfs *rootfs) {
        switch (rootfs->propagation & PROPAGATIONS) {
        case MS_SHARED:
                return MS_SHARED | (rootfs->propagation & MS_REC);
        case MS_SLAVE:
                return MS_SLAVE | MS_REC;
        default:
                return MS_PRIVATE | MS_REC;
        }
}

static int set_attributes(int fd, unsigned flags, uint64_t set, uint64_t propagation) {
        struct mount_attr attr = { .attr_set = set, .propagation = propagation };

        return mount_setattr(fd, "", AT_EMPTY_PATH | flags, &attr, sizeof attr) < 0 ? -errno : 0;
}

/* pivot_root(2) wants the mount that holds the root to be private, and so does the host: a bind in a shared mount would show there.
 * Only a mount point can be changed, so we walk up from PATH until the kernel agrees that it is one; "/" always is. */
static int make_holder_private(const char *path, struct error *err) {
        struct mount_attr attr = { .propagation = MS_PRIVATE };
        char at[PATH_MAX];
        size_t n = strlen(path);

        if (n >= sizeof at)
                return fail_errno(err, CODE_LAUNCH_FAILED, ENAMETOOLONG, "root.path", "cannot mount the root");
        memcpy(at, path, n + 1);
        while (mount_setattr(AT_FDCWD, n ? at : "/", 0, &attr, sizeof attr) < 0) {
                if (errno != EINVAL || n == 0)
                        return fail_errno(err, CODE_LAUNCH_FAILED, errno, path, "cannot make the mount that holds the root private");
                while (n > 0 && at[--n] != '/')
                        ;
                at[n] = '\0';
        }
        return 0;
}

/* Over "/", where nothing is looked up through it: absolute paths begin at the root that we have, below it. Nothing of the host is in it, and
 * who makes it, in a user namespace, owns it: it is read-only before anybody else is there. */
static int prepare_empty(int *ret_root, struct error *err) {
        _cleanup_close_ int context = fsopen("tmpfs", FSOPEN_CLOEXEC), root = -1;

        if (context >= 0 && fsconfig(context, FSCONFIG_SET_STRING, "mode", "0755", 0) == 0 &&
            fsconfig(context, FSCONFIG_SET_STRING, "size", "1m", 0) == 0 && fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0)
                root = fsmount(context, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
        if (root < 0 || move_mount(root, "", AT_FDCWD, "/", MOVE_MOUNT_F_EMPTY_PATH) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "/", "cannot make an empty root");
        *ret_root = take_fd(&root);
        return 0;
}

int rootfs_prepare(const struct plan_plan *plan, int *ret_root, struct error *err) {
        const struct plan_rootfs *rootfs = plan->rootfs;
        unsigned long before = propagation_before(rootfs);
        _cleanup_close_ int root = -1;
        int r;

        umask(0);
        if (mount(NULL, "/", NULL, before, NULL) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "linux.rootfsPropagation", "cannot set the propagation of all mounts");
        if (rootfs->empty)
                return prepare_empty(ret_root, err);
        if (before & MS_SHARED) {
                r = make_holder_private(rootfs->path, err);
                if (r < 0)
                        return r;
        }

        root = open_tree(AT_FDCWD, rootfs->path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
        if (root < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, rootfs->path, "cannot open the container's root (root.path)");
        if (before & MS_SHARED) {
                r = set_attributes(root, AT_RECURSIVE, 0, MS_PRIVATE);
                if (r < 0)
                        return fail_errno(err, CODE_LAUNCH_FAILED, -r, rootfs->path, "cannot make the container's root private");
        }
        if (move_mount(root, "", AT_FDCWD, rootfs->path, MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_SYMLINKS) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, rootfs->path, "cannot mount the container's root on itself");
        *ret_root = take_fd(&root);
        return 0;
}

/* A shared tree passes the unmount of the old root on to the host. Only what we leave behind may be changed: the new root hangs below
 * it now, so this happens through a descriptor after pivot_root(2) has parted the two. */
static int pivot_from_shared(struct error *err) {
        _cleanup_close_ int old = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
        int r;

        if (old < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "/", "cannot open the old root");
        if (syscall(SYS_pivot_root, ".", ".") < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "root.path", "cannot make it the root (pivot_root)");
        r = set_attributes(old, AT_RECURSIVE, 0, MS_PRIVATE);
        if (r < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, -r, "/", "cannot cut the old root off");
        return 0;
}

/* pivot_root(2), "pivot_root(".", ".")": the old root lands on top of the new one, umount2(2) of "." takes that top one away, and the
 * working directory, which never left the new root, is "/". */
static int pivot(bool shared, struct error *err) {
        if (shared) {
                int r = pivot_from_shared(err);

                if (r < 0)
                        return r;
        } else if (syscall(SYS_pivot_root, ".", ".") < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "root.path", "cannot make it the root (pivot_root)%s",
                        errno == EINVAL ? "; where / is an initial RAM file system, use --no-pivot" : "");
        if (umount2(".", MNT_DETACH) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "/", "cannot detach the host's tree");
        return 0;
}

struct hiding {
        char root[PATH_MAX]; /* what is mounted from here on is the container's */
        size_t length;
        int r;
        struct error *err;
};

/* In a user namespace what came from outside is locked, and umount2(2) of it EINVAL: covered, it is as good as gone. */
static bool hide_mount(const struct probe_mount *m, void *data) {
        struct hiding *h = data;

        if ((!streq(m->type, "proc") && !streq(m->type, "sysfs")) ||
            (strncmp(m->point, h->root, h->length) == 0 && (m->point[h->length] == '/' || m->point[h->length] == '\0')))
                return true;
        if (mount(NULL, m->point, NULL, MS_PRIVATE | MS_REC, NULL) == 0 && umount2(m->point, MNT_DETACH | UMOUNT_NOFOLLOW) == 0)
                return true;
        if (errno == ENOENT) /* it went with one above it */
                return true;
        if (mount("tmpfs", m->point, "tmpfs", MS_RDONLY, NULL) < 0)
                h->r = fail_errno(h->err, CODE_LAUNCH_FAILED, errno, m->point, "cannot hide the host's %s, which --no-pivot leaves mounted",
                                  m->type);
        return h->r == 0;
}

/* A user namespace made in the container may mount proc and sysfs anew, without masks, as long as one that is wholly visible is mounted
 * anywhere in the mount namespace (fs/namespace.c, mnt_already_visible()): the host's must not be. */
static int hide_host_proc(int root, struct error *err) {
        struct hiding hiding = { .err = err };
        _cleanup_str_ struct str text = { 0 };
        ssize_t n = readlink(fd_path(root).path, hiding.root, sizeof hiding.root - 1);
        int r = n < 0 ? -errno : file_read(AT_FDCWD, "/proc/self/mountinfo", MOUNTINFO_MAX, &text);

        if (r < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, -r, "/proc/self/mountinfo", "cannot read our mounts");
        hiding.length = (size_t)n;
        probe_mountinfo(text.text, hide_mount, &hiding);
        return hiding.r;
}

/* --no-pivot, for hosts that run from their initial RAM file system. The host's tree stays underneath, out of sight but mounted: whoever
 * has CAP_SYS_CHROOT in the container can get there, which is why this is only done when asked for. */
static int move_and_chroot(int root, struct error *err) {
        int r = hide_host_proc(root, err);

        if (r < 0)
                return r;
        if (move_mount(root, "", AT_FDCWD, "/", MOVE_MOUNT_F_EMPTY_PATH) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "root.path", "cannot move the root to /");
        if (chroot(".") < 0 || chdir("/") < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "root.path", "cannot change the root");
        return 0;
}

/* Whoever asks for a directory that is missing gets it, also where the root and its mounts are read-only in the end: images count on that.
 * What else may be wrong with it, cwd_enter() tells. */
static int make_cwd(const struct plan_process *process, int root, struct error *err) {
        _cleanup_close_ int fd = -1;
        int r;

        if (!process || !process->cwd || streq(process->cwd, "/"))
                return 0;
        fd = container_path_try(root, process->cwd, O_PATH, 0);
        if (fd != -ENOENT)
                return 0;
        r = container_path_make(root, process->cwd, S_IFDIR, &fd, err);
        if (r >= 0)
                return 0;
        snprintf(err->where, sizeof err->where, "process.cwd");
        return fail_within(err, r, process->cwd);
}

/* Of / alone: the mounts below it have what their own options say. */
static int set_propagation(const struct plan_rootfs *rootfs, struct error *err) {
        if (rootfs->propagation & (MS_SHARED | MS_SLAVE | MS_UNBINDABLE) &&
            mount(NULL, "/", NULL, rootfs->propagation & ~(uint64_t)MS_REC, NULL) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "linux.rootfsPropagation", "cannot set the propagation of /");
        return 0;
}

int rootfs_enter(const struct plan_plan *plan, int root, struct error *err) {
        const struct plan_rootfs *rootfs = plan->rootfs;
        bool shared = propagation_before(rootfs) & MS_SHARED;
        int r;

        if ((r = make_cwd(plan->process, root, err)) < 0 || (r = mounts_finish(plan, root, err)) < 0)
                return r;
        if (rootfs->readonly) {
                r = set_attributes(root, 0, MOUNT_ATTR_RDONLY, 0);
                if (r < 0)
                        return fail_errno(err, CODE_LAUNCH_FAILED, -r, "root.readonly", "cannot make the root read-only");
        }
        if (fchdir(root) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "root.path", "cannot enter the root");
        r = rootfs->has & PLAN_ROOTFS_HAS_PIVOT && !rootfs->pivot ? move_and_chroot(root, err) : pivot(shared, err);
        if (r < 0)
                return r;
        return namespaces_joins(plan->namespaces, CLONE_NEWNS) ? 0 : set_propagation(rootfs, err);
}

/* From here to the end the joined namespace changes. Slaves first: where "/" is shared, what is done to it would happen to its peers as well,
 * which may be the host's. Nothing but "/" is looked up, so its members cannot lead us anywhere. */
static int replace_root(int tree, struct error *err) {
        int errnum;

        if (mount(NULL, "/", NULL, MS_SLAVE | MS_REC, NULL) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "linux.namespaces", "cannot cut the joined mount namespace off from others");
        if (move_mount(tree, "", AT_FDCWD, "/", MOVE_MOUNT_F_EMPTY_PATH) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "root.path", "cannot attach the root in the joined mount namespace");
        if (fchdir(tree) == 0 && syscall(SYS_pivot_root, ".", ".") == 0)
                return umount2(".", MNT_DETACH) < 0 ? fail_errno(err, CODE_LAUNCH_FAILED, errno, "/", "cannot detach the old root") : 0;
        errnum = errno;
        (void)umount2(".", MNT_DETACH);
        return fail_errno(err, CODE_LAUNCH_FAILED, errnum, "root.path", "cannot make it the root of the joined mount namespace (pivot_root)");
}

int rootfs_move(const struct plan_plan *plan, struct namespace_joins *joins, struct error *err) {
        _cleanup_close_ int tree = open_tree(AT_FDCWD, "/", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
        int r;

        if (tree < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "root.path", "cannot take the root along into the mount namespace to join");
        if ((r = namespaces_join_mount(joins, err)) < 0 || (r = replace_root(tree, err)) < 0)
                return r;
        return set_propagation(plan->rootfs, err);
}

int cwd_enter(const char *cwd, struct error *err) {
        char where[PATH_MAX];

        if (chdir(cwd) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "process.cwd", "cannot change to the directory %s", cwd);

        /* CVE-2024-21626: /proc/self/fd/N of a descriptor that the runtime still holds would leave the payload on the host, from where
         * ".." leads everywhere. The system call itself is asked, because libc hides its "(unreachable)" (getcwd(3)). */
        if (syscall(SYS_getcwd, where, sizeof where) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "process.cwd", "cannot tell where the directory %s is", cwd);
        if (where[0] != '/')
                return fail(err, CODE_LAUNCH_FAILED, EXDEV, "process.cwd", "the directory %s lies outside the container", cwd);
        return 0;
}
