#define _GNU_SOURCE
#include "apply/container_path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"

/* EAGAIN: a rename somewhere in the system made a ".." in PATH unsafe to judge; openat2(2) asks for another try. An attacker who renames
 * all the time hopes that we loop for ever. */
#define RENAME_TRIES 64

/* path_resolution(7): the kernel follows 40 symlinks in one path. */
#define SYMLINKS_MAX 40

/* Between making a directory and opening the whole path again somebody may have renamed a part of it; give up after so many. */
#define MAKE_TRIES 16

int container_path_try(int root, const char *path, int flags, uint64_t resolve) {
        const struct open_how how = {
                .flags = (uint64_t)(flags | O_CLOEXEC),
                .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS | resolve,
        };
        int fd, tries = 0;

        do
                fd = (int)syscall(SYS_openat2, root, path, &how, sizeof how);
        while (fd < 0 && (errno == EINTR || (errno == EAGAIN && ++tries < RENAME_TRIES)));
        return fd < 0 ? -errno : fd;
}

static int fail_open(struct error *err, int errnum, const char *path, uint64_t resolve) {
        if (errnum == ELOOP && resolve & RESOLVE_NO_SYMLINKS)
                return fail(err, CODE_LAUNCH_FAILED, errnum, path,
                        "this path inside the container must be made of ordinary directories, but a part of it is a symlink");
        return fail_errno(err, CODE_LAUNCH_FAILED, errnum, path, "cannot open this path inside the container");
}

int container_path_open(int root, const char *path, int flags, int *ret_fd, struct error *err) {
        int fd = container_path_try(root, path, flags, 0);

        if (fd < 0)
                return fail_open(err, -fd, path, 0);
        *ret_fd = fd;
        return 0;
}

/* The path that is being made. A symlink on the way replaces its own name in TEXT, and the walk starts again. */
struct walk {
        int root;
        uint64_t resolve;
        int symlinks;
        char text[PATH_MAX];
};

/* Opens the longest part of TEXT that exists, and says where the rest begins. */
static int open_existing(struct walk *walk, size_t *ret_rest, int *ret_fd) {
        size_t end = strlen(walk->text);
        int fd = -ENOENT;

        while (fd == -ENOENT) {
                char cut;

                while (end > 0 && walk->text[end - 1] == '/')
                        end--;
                while (end > 0 && walk->text[end - 1] != '/')
                        end--;
                if (end == 0) {
                        fd = container_path_try(walk->root, "/", O_PATH | O_DIRECTORY, walk->resolve);
                        break;
                }
                cut = walk->text[end];
                walk->text[end] = '\0';
                fd = container_path_try(walk->root, walk->text, O_PATH | O_DIRECTORY, walk->resolve);
                walk->text[end] = cut;
        }
        if (fd < 0)
                return fd;
        *ret_rest = end;
        *ret_fd = fd;
        return 0;
}

/* NAME, the part of TEXT from START to END below PARENT, is there although the whole path is not: a dangling symlink, or something that
 * appeared just now. Puts a symlink's target in its place. 1: TEXT was changed, 0: it is no symlink. */
static int expand_symlink(struct walk *walk, int parent, const char *name, size_t start, size_t end) {
        char target[PATH_MAX], whole[PATH_MAX];
        ssize_t n = readlinkat(parent, name, target, sizeof target - 1);
        int length;

        if (n < 0)
                return errno == EINVAL || errno == ENOENT ? 0 : -errno;
        if (++walk->symlinks > SYMLINKS_MAX)
                return -ELOOP;
        target[n] = '\0';
        length = snprintf(whole, sizeof whole, "%.*s%s%s", target[0] == '/' ? 0 : (int)start, walk->text, target, walk->text + end);
        if (length < 0 || (size_t)length >= sizeof whole)
                return -ENAMETOOLONG;
        memcpy(walk->text, whole, (size_t)length + 1);
        return 1;
}

static int make_entry(int parent, const char *name, mode_t type) {
        int r = type == S_IFDIR ? mkdirat(parent, name, 0755) : mknodat(parent, name, S_IFREG | 0644, 0);

        return r < 0 ? -errno : 0;
}

/* Makes what TEXT lacks, from the first missing name on. Names are made one at a time below a descriptor, so that a symlink that
 * somebody swaps in is an error or followed inside the root, never followed by mkdir(2) on the host. 1: look again, 0: all made. */
static int make_missing(struct walk *walk, mode_t type) {
        _cleanup_close_ int parent = -1;
        char name[NAME_MAX + 1];
        size_t start, end;
        int r = open_existing(walk, &start, &parent);

        if (r < 0)
                return r;
        for (;; start = end) {
                bool last;
                int next;

                start += strspn(walk->text + start, "/");
                end = start + strcspn(walk->text + start, "/");
                last = walk->text[end + strspn(walk->text + end, "/")] == '\0';
                if (end == start)
                        return 0;
                if (end - start > NAME_MAX)
                        return -ENAMETOOLONG;
                memcpy(name, walk->text + start, end - start);
                name[end - start] = '\0';
                if (streq(name, "."))
                        continue;
                if (streq(name, "..")) /* the kernel knows where this leads; what stands before it exists now */
                        return 1;
                r = make_entry(parent, name, last ? type : S_IFDIR);
                if (r == -EEXIST) {
                        r = expand_symlink(walk, parent, name, start, end);
                        if (r != 0)
                                return r;
                } else if (r < 0)
                        return r;
                if (last)
                        return 0;
                next = openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
                if (next < 0)
                        return errno == ENOENT ? 1 : -errno;
                close_fd(&parent);
                parent = next;
        }
}

int container_path_make_with(int root, const char *path, mode_t type, int flags, uint64_t resolve, int *ret_fd, struct error *err) {
        int fd = container_path_try(root, path, O_PATH | flags, resolve), r;
        const bool missing = fd == -ENOENT;

        if (missing) {
                struct walk walk = { .root = root, .resolve = resolve };
                size_t n = strlen(path);

                if (n >= sizeof walk.text)
                        return fail_errno(err, CODE_LAUNCH_FAILED, ENAMETOOLONG, path, "cannot make this path inside the container");
                memcpy(walk.text, path, n + 1);

                /* What is returned always comes from one look from the root at the whole path, never from the steps of making it. */
                for (int tries = 0; fd == -ENOENT && tries < SYMLINKS_MAX + MAKE_TRIES; tries++) {
                        r = make_missing(&walk, type);
                        if (r < 0)
                                return r == -ELOOP
                                        ? fail_open(err, ELOOP, path, resolve)
                                        : fail_errno(err, CODE_LAUNCH_FAILED, -r, path, "cannot make this path inside the container");
                        if (r == 0)
                                fd = container_path_try(root, path, O_PATH | flags, resolve);
                }
        }
        if (fd < 0)
                return fail_open(err, -fd, path, resolve);
        *ret_fd = fd;
        return missing;
}
