#define _GNU_SOURCE
#include "apply/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "apply/container_path.h"
#include "apply/dev.h"
#include "base/fd.h"
#include "base/fd_send.h"

/* A descriptor, or a failure. */
static int open_pts(int root, struct error *err) {
        _cleanup_close_ int pts = container_path_try(root, "/dev/pts", O_PATH | O_DIRECTORY, RESOLVE_NO_SYMLINKS);
        struct statfs fs;

        if (pts < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, -pts, "process.terminal",
                        "cannot open the container's /dev/pts; a terminal needs a devpts mount there");
        if (fstatfs(pts, &fs) < 0 || fs.f_type != DEVPTS_SUPER_MAGIC)
                return fail(err, CODE_LAUNCH_FAILED, ENODEV, "process.terminal",
                        "the container's /dev/pts is not a devpts mount, which a terminal needs");
        return take_fd(&pts);
}

/* Names in a devpts are the kernel's alone, so once the directory is known to be one, "ptmx" in it is what it says (CVE-2025-52565: a bind
 * on /dev/pts had other files mounted as the console). The slave comes from the master, never from a path. */
int terminal_open_pair(int root, uint16_t width, uint16_t height, int *ret_master, int *ret_slave, struct error *err) {
        const struct winsize size = { .ws_col = width, .ws_row = height };
        _cleanup_close_ int pts = open_pts(root, err), master = -1, slave = -1;
        int unlock = 0;

        if (pts < 0)
                return pts;
        master = openat(pts, "ptmx", O_RDWR | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC);
        if (master < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "process.terminal", "cannot open a terminal in the container's /dev/pts");
        if (ioctl(master, TIOCSPTLCK, &unlock) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "process.terminal", "cannot unlock the terminal");
        slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
        if (slave < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "process.terminal", "cannot open the terminal's other side");
        if ((width || height) && ioctl(master, TIOCSWINSZ, &size) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "process.consoleSize", "cannot set the terminal's size");
        *ret_master = take_fd(&master);
        *ret_slave = take_fd(&slave);
        return 0;
}

/* The place is named below a verified directory and move_mount(2) does not follow what an image may have put there under that name. */
static int bind_console(int root, int slave, struct error *err) {
        _cleanup_close_ int dev = -1, tree = -1;
        int r = dev_open(root, &dev, err);

        if (r < 0)
                return r;
        if (mknodat(dev, "console", S_IFREG | 0600, 0) < 0 && errno != EEXIST && errno != EROFS)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "/dev/console", "cannot make a place for the console");
        tree = open_tree(slave, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);
        if (tree < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "/dev/console", "cannot bind the terminal");
        if (move_mount(tree, "", dev, "console", MOVE_MOUNT_F_EMPTY_PATH) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "/dev/console", "cannot bind the terminal");
        return 0;
}

int terminal_open(int root, uint16_t width, uint16_t height, int *ret_master, int *ret_slave, struct error *err) {
        _cleanup_close_ int master = -1, slave = -1;
        int r = terminal_open_pair(root, width, height, &master, &slave, err);

        if (r == 0)
                r = bind_console(root, slave, err);
        if (r < 0)
                return r;
        *ret_master = take_fd(&master);
        *ret_slave = take_fd(&slave);
        return 0;
}

int terminal_own(int slave, uid_t uid, struct error *err) {
        if (uid != 0 && fchown(slave, uid, (gid_t)-1) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "process.terminal", "cannot give the terminal to uid %u", uid);
        return 0;
}

int terminal_become(int slave, struct error *err) {
        if (ioctl(slave, TIOCSCTTY, 0) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "process.terminal", "cannot make it the controlling terminal");
        for (int fd = 0; fd <= 2; fd++)
                if (slave == fd ? fcntl(fd, F_SETFD, 0) < 0 : dup2(slave, fd) < 0)
                        return fail_errno(err, CODE_LAUNCH_FAILED, errno, "process.terminal", "cannot use the terminal as fd %d", fd);
        return 0;
}

/* Names in a devpts are the indices of the terminals (fs/devpts/inode.c), which are the minor numbers too. */
int terminal_reopen(struct error *err) {
        _cleanup_close_ int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), pts = -1, slave = -1;
        struct stat had, found;
        char name[16];

        if (root < 0 || fstat(STDIN_FILENO, &had) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "process.terminal", "cannot look at the terminal");
        snprintf(name, sizeof name, "%u", minor(had.st_rdev));
        pts = open_pts(root, err);
        if (pts < 0)
                return pts;
        slave = openat(pts, name, O_RDWR | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC);
        if (slave < 0 || fstat(slave, &found) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "process.terminal", "cannot open the terminal once more");
        if (found.st_dev != had.st_dev || found.st_ino != had.st_ino)
                return fail(err, CODE_LAUNCH_FAILED, EXDEV, "process.terminal", "/dev/pts in the joined mount namespace is not the container's");
        for (int fd = 0; fd <= 2; fd++)
                if (dup2(slave, fd) < 0)
                        return fail_errno(err, CODE_LAUNCH_FAILED, errno, "process.terminal", "cannot use the terminal as fd %d", fd);
        return 0;
}

int terminal_send(const char *socket_path, int master, struct error *err) {
        static const char name[] = "/dev/ptmx"; /* what runc sends with it; receivers want at least a byte */

        return fd_send(socket_path, "the console socket", NULL, name, sizeof name - 1, master, err);
}
