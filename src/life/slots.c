#define _GNU_SOURCE
#include "life/slots.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

#define SLOTS "slots"

/* Behind all slots: who holds this is the next to get one. */
#define QUEUE (INT64_C(1) << 32)

enum { STEP_US = 5000 };

/* Of the open file description (fcntl(2), F_OFD_SETLK): children that we make meanwhile do not lose it for us. */
static int lock(int fd, int64_t at, bool wait) {
        struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = at, .l_len = 1 };

        return fcntl(fd, wait ? F_OFD_SETLKW : F_OFD_SETLK, &l) < 0 ? -errno : 0;
}

/* Made only by who has the container locked: nothing new comes into a directory that is being removed. */
static int open_slots(const struct container *container, int flags, int *ret, struct error *err) {
        *ret = openat(container->dir, SLOTS, O_RDWR | O_NOFOLLOW | O_CLOEXEC | flags, 0600);
        if (*ret >= 0)
                return 0;
        if (errno == ENOENT) /* the directory was removed */
                return fail(err, CODE_NOT_FOUND, ENOENT, container->id, "container does not exist any more");
        return fail_errno(err, CODE_INTERNAL, errno, SLOTS, "cannot open the slots of the sandbox");
}

static int cannot(int r, struct error *err) {
        return fail_errno(err, CODE_INTERNAL, -r, SLOTS, "cannot take a slot of the sandbox");
}

/* From another place for each process, so that those who come one after the other do not all try the same ones first. */
static int take_any(int fd, uint32_t n) {
        uint32_t first = (uint32_t)getpid() % n;

        for (uint32_t i = 0; i < n; i++) {
                int r = lock(fd, (first + i) % n, false);

                if (r != -EAGAIN && r != -EACCES)
                        return r;
        }
        return -EAGAIN;
}

int slot_take(const struct container *container, uint32_t n, int *ret_fd, struct error *err) {
        _cleanup_close_ int fd = -1;
        int r = open_slots(container, O_CREAT, &fd, err);

        if (r < 0)
                return r;
        r = take_any(fd, n);
        if (r == 0)
                *ret_fd = take_fd(&fd);
        return r == 0 || r == -EAGAIN ? r : cannot(r, err);
}

/* The kernel wakes who waits for one lock, not for any of some; so only the first in the queue looks from time to time. */
int slot_wait(const struct container *container, uint32_t n, int *ret_fd, struct error *err) {
        _cleanup_close_ int fd = -1, queue = -1;
        int r = open_slots(container, 0, &fd, err);

        if (r < 0 || (r = open_slots(container, 0, &queue, err)) < 0)
                return r;
        r = lock(queue, QUEUE, true);
        while (r == 0 && (r = take_any(fd, n)) == -EAGAIN) {
                usleep(STEP_US);
                r = 0;
        }
        if (r < 0)
                return cannot(r, err);
        *ret_fd = take_fd(&fd);
        return 0;
}

bool slot_is_of(const struct container *container, int fd) {
        struct stat ours, theirs;

        return fstat(fd, &ours) == 0 && fstatat(container->dir, SLOTS, &theirs, AT_SYMLINK_NOFOLLOW) == 0 && ours.st_ino == theirs.st_ino &&
                ours.st_dev == theirs.st_dev;
}
