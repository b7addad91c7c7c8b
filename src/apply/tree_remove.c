#define _GNU_SOURCE
#include "apply/tree_remove.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"

/* Directories below this depth are moved to the top, and wait for the next pass. */
enum { DEPTH_MAX = 24 };

struct removal {
        int top;
        unsigned long long n_moved; /* all that were, for a name of their own */
        bool moved;                 /* in this pass */
};

/* The owner of a directory may have taken its own rights away (Go's module cache does), and renaming one needs them too: its ".." changes.
 * Root needs none. */
static void take_rights(int dir, const char *name) {
        _cleanup_close_ int fd = geteuid() == 0 ? -1 : openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        struct stat st;

        if (fd >= 0 && fstat(fd, &st) == 0 && (st.st_mode & 0700) != 0700)
                (void)chmod(fd_path(fd).path, 0700);
}

static int move_to_top(struct removal *removal, int dir, const char *name) {
        char place[64];

        for (;;) {
                snprintf(place, sizeof place, "%llu", removal->n_moved++);
                if (renameat2(dir, name, removal->top, place, RENAME_NOREPLACE) == 0) {
                        removal->moved = true;
                        return 0;
                }
                if (errno != EEXIST)
                        return -errno;
        }
}

static int empty(struct removal *removal, int fd, unsigned depth);

static int remove_directory(struct removal *removal, int dir, const char *name, unsigned depth) {
        _cleanup_close_ int fd = -1;
        int r;

        if (unlinkat(dir, name, AT_REMOVEDIR) == 0)
                return 0;
        if (errno != ENOTEMPTY && errno != EEXIST && errno != EACCES)
                return -errno;
        take_rights(dir, name);
        if (depth == DEPTH_MAX)
                return move_to_top(removal, dir, name);
        fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        r = empty(removal, fd, depth + 1);
        if (r < 0 || (depth == 0 && removal->moved))
                return r;
        return unlinkat(dir, name, AT_REMOVEDIR) < 0 ? -errno : 0;
}

/* All that is in the directory FD. unlink(2) of a directory is EISDIR. */
static int empty(struct removal *removal, int fd, unsigned depth) {
        _cleanup_dir_ DIR *stream = NULL;
        int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r;

        if (copy < 0)
                return -errno;
        stream = fdopendir(copy);
        if (!stream) {
                r = -errno;
                close(copy);
                return r;
        }
        if (depth == 1)
                removal->top = fd;
        for (struct dirent *entry; (entry = readdir(stream));) {
                if (streq(entry->d_name, ".") || streq(entry->d_name, "..") || unlinkat(fd, entry->d_name, 0) == 0)
                        continue;
                r = errno == EISDIR ? remove_directory(removal, fd, entry->d_name, depth) : -errno;
                if (r < 0 && r != -ENOENT)
                        return r;
        }
        return 0;
}

int tree_remove(int dir, const char *name, struct error *err) {
        struct removal removal = { .top = -1 };
        int r;

        do {
                removal.moved = false;
                r = remove_directory(&removal, dir, name, 0);
        } while (r == 0 && removal.moved);
        if (r < 0 && r != -ENOENT)
                return fail_errno(err, CODE_RELEASE_FAILED, -r, name, "cannot remove this directory");
        return 0;
}
