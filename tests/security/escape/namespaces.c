/* Namespaces and mounts: the ways to privilege over something. */
#define _GNU_SOURCE
#include "attempt.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SYS_open_tree_attr
#define SYS_open_tree_attr 467 /* Linux 6.15 */
#endif

enum { MS_BIND_ = 4096, MNT_DETACH_ = 2 };

static char directory[] = "/tmp/escape.XXXXXX";
static int namespace = -1;
static struct clone_args forked = { .exit_signal = SIGCHLD }, with_user = { .flags = CLONE_NEWUSER, .exit_signal = SIGCHLD };
static struct mount_attr attributes = { .attr_set = MOUNT_ATTR_NOSUID };
static union {
        struct file_handle handle;
        char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
} handle = { .handle = { .handle_bytes = MAX_HANDLE_SZ } };

/* ARGS[0] of a call of the clone family. What it makes ends at once. */
static long fork_by(const struct attempt *a) {
        long pid = syscall(a->number, a->args[0], a->args[1], 0, 0, 0);

        if (pid == 0)
                _exit(0);
        return pid < 0 || waitpid((pid_t)pid, NULL, __WALL) == pid ? pid : -1;
}

static long open_own_namespace(void) {
        return namespace = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
}

static long join_it(const struct attempt *attempt) {
        (void)attempt;
        return syscall(SYS_setns, namespace, CLONE_NEWNET);
}

/* A mount namespace for what is mounted on the directory, which is a mount of its own there. */
static long make_directory(void) {
        if (!mkdtemp(directory) || unshare(CLONE_NEWNS) < 0 || syscall(SYS_mount, directory, directory, NULL, MS_BIND_, NULL) < 0)
                return -1;
        return chdir(directory);
}

static long know_a_handle(void) {
        int mount;

        return name_to_handle_at(AT_FDCWD, "/tmp", &handle.handle, &mount, 0);
}

static long open_by_handle(const struct attempt *attempt) {
        int root = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        (void)attempt;
        return syscall(SYS_open_by_handle_at, root, &handle, O_RDONLY | O_CLOEXEC);
}

#define CLONE(flag) \
        { "clone(" #flag ")", .make = fork_by, .number = SYS_clone, .args = { (flag) | SIGCHLD }, .refused = STRICT }
#define UNSHARE(flag) \
        { "unshare(" #flag ")", CALL(SYS_unshare, (flag)), .refused = STRICT }

static const struct attempt rows[] = {
        CLONE(CLONE_NEWNS),
        CLONE(CLONE_NEWCGROUP),
        CLONE(CLONE_NEWUTS),
        CLONE(CLONE_NEWIPC),
        CLONE(CLONE_NEWUSER),
        CLONE(CLONE_NEWPID),
        CLONE(CLONE_NEWNET),
        CLONE(CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWPID),
        { "clone(CLONE_NEWUSER), with a bit above the flags", .make = fork_by, .number = SYS_clone,
                .args = { HIGH | CLONE_NEWUSER | SIGCHLD }, .refused = STRICT },
        { "clone as fork does", .make = fork_by, .number = SYS_clone, .args = { SIGCHLD }, .anybody = true },
        { "clone3 as fork does", .make = fork_by, .number = SYS_clone3, .args = { POINTER(&forked), sizeof forked }, .refused = STRICT,
                .with = ENOSYS },
        { "clone3(CLONE_NEWUSER)", .make = fork_by, .number = SYS_clone3, .args = { POINTER(&with_user), sizeof with_user },
                .refused = STRICT, .with = ENOSYS },
        UNSHARE(CLONE_NEWNS),
        UNSHARE(CLONE_NEWCGROUP),
        UNSHARE(CLONE_NEWUTS),
        UNSHARE(CLONE_NEWIPC),
        UNSHARE(CLONE_NEWUSER),
        UNSHARE(CLONE_NEWPID),
        UNSHARE(CLONE_NEWNET),
        { "unshare(CLONE_NEWTIME)", CALL(SYS_unshare, CLONE_NEWTIME), .refused = STRICT, .or = EINVAL },
        UNSHARE(CLONE_FILES),
        { "setns", join_it, open_own_namespace, .refused = SOCKETS },

        { "mount of a tmpfs", CALL(SYS_mount, POINTER("tmpfs"), POINTER("."), POINTER("tmpfs"), 0, 0), .prepare = make_directory,
                .refused = STRICT },
        { "mount of a bind", CALL(SYS_mount, POINTER("/"), POINTER("."), 0, MS_BIND_, 0), .prepare = make_directory, .refused = STRICT },
        { "umount2", CALL(SYS_umount2, POINTER(directory), MNT_DETACH_), .prepare = make_directory, .refused = STRICT },
        { "pivot_root", CALL(SYS_pivot_root, POINTER("."), POINTER(".")), .prepare = make_directory, .refused = STRICT, .or = EINVAL },
        { "chroot", CALL(SYS_chroot, POINTER("/")), .refused = STRICT },
        { "fsopen", CALL(SYS_fsopen, POINTER("tmpfs"), FSOPEN_CLOEXEC), .refused = STRICT },
        { "fsconfig", CALL(SYS_fsconfig, -1ul, FSCONFIG_CMD_CREATE, 0, 0, 0), .refused = STRICT, .without = EINVAL, .or = EBADF },
        { "fsmount", CALL(SYS_fsmount, -1ul, FSMOUNT_CLOEXEC, 0), .refused = STRICT, .without = EBADF },
        { "fspick", CALL(SYS_fspick, (unsigned long)AT_FDCWD, POINTER("."), FSPICK_CLOEXEC), .prepare = make_directory, .refused = STRICT },
        { "move_mount", CALL(SYS_move_mount, -1ul, POINTER("x"), -1ul, POINTER("x"), 0), .refused = STRICT, .without = EBADF },
        { "open_tree(OPEN_TREE_CLONE)", CALL(SYS_open_tree, (unsigned long)AT_FDCWD, POINTER("."), OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC),
                .prepare = make_directory, .refused = STRICT },
        { "open_tree_attr(OPEN_TREE_CLONE)",
                CALL(SYS_open_tree_attr, (unsigned long)AT_FDCWD, POINTER("."), OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC, POINTER(&attributes),
                        sizeof attributes),
                .prepare = make_directory, .refused = STRICT },
        { "mount_setattr", CALL(SYS_mount_setattr, (unsigned long)AT_FDCWD, POINTER("."), 0, POINTER(&attributes), sizeof attributes),
                .prepare = make_directory, .refused = STRICT },
        { "open_by_handle_at", open_by_handle, know_a_handle, .refused = STRICT },
};

const struct attempts attempts_on_namespaces = { "namespaces and mounts", rows, ELEMENTSOF(rows) };
