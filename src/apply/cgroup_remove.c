#define _GNU_SOURCE
#include "apply/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "apply/cgroup_file.h"
#include "base/fd.h"
#include "base/str.h"
#include "base/time.h"

#define WAIT_US UINT64_C(2000000)

int cgroup_kill(int fd, struct error *err) {
        _cleanup_close_ int file = openat(fd, "cgroup.kill", O_WRONLY | O_CLOEXEC);

        if (file >= 0 && write(file, "1", 1) == 1)
                return 0;
        if (errno == ENOENT || errno == ENODEV) /* removed before or just now */
                return 0;
        return fail_errno(err, CODE_RELEASE_FAILED, errno, "cgroup.kill", "cannot kill the processes of the cgroup");
}

int cgroup_populated(int fd, bool *ret, struct error *err) {
        char events[CGROUP_FILE_SIZE];
        int r = cgroup_file_read(fd, "cgroup.events", events);

        if (r < 0 && r != -ENOENT && r != -ENODEV)
                return fail_errno(err, CODE_INTERNAL, -r, "cgroup.events", "cannot read whether the cgroup holds processes");
        *ret = r == 0 && cgroup_event(events, "populated");
        return 0;
}

static int left_ms(uint64_t deadline) {
        uint64_t now = time_monotonic_us();

        return now >= deadline ? 0 : (int)((deadline - now) / 1000 + 1);
}

/* Waits until no process is in or below the cgroup DIR: the kernel wakes pollers of cgroup.events (cgroup-v2.rst, "Populated
 * notification"). -ETIMEDOUT after DEADLINE. */
static int wait_unpopulated(int dir, uint64_t deadline) {
        _cleanup_close_ int file = openat(dir, "cgroup.events", O_RDONLY | O_CLOEXEC);
        char events[CGROUP_FILE_SIZE];

        while (file >= 0 && cgroup_file_read_fd(file, events) == 0 && cgroup_event(events, "populated")) {
                struct pollfd poll_file = { .fd = file, .events = POLLPRI };
                int ms = left_ms(deadline);

                if (ms == 0)
                        return -ETIMEDOUT;
                (void)poll(&poll_file, 1, ms);
        }
        return 0;
}

int cgroup_wait_empty(int fd, unsigned ms) {
        return wait_unpopulated(fd, time_monotonic_us() + UINT64_C(1000) * ms);
}

/* A directory has a link for each of its subdirectories, here too (fs/kernfs/inode.c). */
static bool has_children(int dir) {
        struct stat st;

        return fstat(dir, &st) == 0 && st.st_nlink > 2;
}

/* Removes the children of DIR that can be removed. Returns 0 when none is left, 1 when NAME is one that cannot yet. */
static int remove_children(int dir, char name[NAME_MAX + 1]) {
        char buffer[4096] __attribute__((aligned(__alignof__(struct dirent64))));
        ssize_t n;

        if (lseek(dir, 0, SEEK_SET) < 0)
                return -errno;
        while ((n = syscall(SYS_getdents64, dir, buffer, sizeof buffer)) > 0)
                for (ssize_t at = 0; at < n;) {
                        const struct dirent64 *entry = (const struct dirent64 *)(buffer + at);

                        at += entry->d_reclen;
                        if (entry->d_type != DT_DIR || streq(entry->d_name, ".") || streq(entry->d_name, ".."))
                                continue;
                        if (unlinkat(dir, entry->d_name, AT_REMOVEDIR) == 0 || errno == ENOENT)
                                continue;
                        if (errno != EBUSY)
                                return -errno;
                        strcpy(name, entry->d_name);
                        return 1;
                }
        return n < 0 && errno != ENOENT ? -errno : 0;
}

/* Removes everything below directory *DIR, which it is again after success, the deepest first. A payload may have nested cgroups
 * thousands deep, so this neither recurses nor holds a descriptor a level: it goes down into a child and back by "..", which in cgroupfs
 * nobody can turn elsewhere. */
static int remove_below(int *dir, uint64_t deadline) {
        unsigned depth = 0;

        for (;;) {
                _cleanup_close_ int next = -1;
                char name[NAME_MAX + 1];
                int r = remove_children(*dir, name);

                if (r < 0)
                        return r;
                if (r == 0 && depth == 0)
                        return 0;
                next = openat(*dir, r ? name : "..", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
                if (next < 0 && errno == ENOENT && r)
                        continue;
                if (next < 0)
                        return -errno;
                if (r && !has_children(next)) { /* busy by processes */
                        r = wait_unpopulated(next, deadline);
                        if (r < 0)
                                return r;
                        if (left_ms(deadline) == 0)
                                return -ETIMEDOUT;
                        continue;
                }
                depth += r ? 1 : -1;
                close_fd(dir);
                *dir = take_fd(&next);
        }
}

/* Removes PATH and all below it; absent is success. */
static int remove_tree(const char *path, uint64_t deadline) {
        while (rmdir(path) < 0) {
                _cleanup_close_ int dir = -1;
                int r;

                if (errno == ENOENT)
                        return 0;
                if (errno != EBUSY && errno != ENOTEMPTY)
                        return -errno;
                dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
                if (dir < 0)
                        return errno == ENOENT ? 0 : -errno;
                if ((r = remove_below(&dir, deadline)) < 0 || (r = wait_unpopulated(dir, deadline)) < 0)
                        return r;
                if (rmdir(path) == 0)
                        return 0;
                if (left_ms(deadline) == 0)
                        return -ETIMEDOUT;
                (void)poll(NULL, 0, 1); /* the kernel is not quite done with it */
        }
        return 0;
}

int cgroup_remove(const char *path, unsigned ours, struct error *err) {
        char at[PATH_MAX];
        int r;

        if (ours == 0)
                return 0;
        if (strlen(path) >= sizeof at)
                return fail(err, CODE_RELEASE_FAILED, ENAMETOOLONG, path, "the path of the cgroup is too long");
        r = remove_tree(path, time_monotonic_us() + WAIT_US);
        if (r == -ETIMEDOUT)
                return fail(err, CODE_RELEASE_FAILED, EBUSY, path, "the cgroup still holds processes");
        if (r < 0)
                return fail_errno(err, CODE_RELEASE_FAILED, -r, path, "cannot remove the cgroup");
        strcpy(at, path);
        for (unsigned i = 1; i < ours; i++) {
                char *slash = strrchr(at, '/');

                if (!slash || slash == at)
                        break;
                *slash = '\0';
                if (rmdir(at) == 0 || errno == ENOENT)
                        continue;
                if (errno == EBUSY || errno == ENOTEMPTY) /* others have moved in below it: theirs now */
                        break;
                return fail_errno(err, CODE_RELEASE_FAILED, errno, at, "cannot remove the cgroup");
        }
        return 0;
}
