#include "cmd/source.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/file.h"

int source_fd(const char *option, const char *text, int *ret, struct error *err) {
        const char *number = str_after(text, "fd:");
        uint64_t fd;

        if (!number)
                return 0;
        if (str_to_u64(number, INT_MAX, &fd) < 0)
                return fail(err, CODE_USAGE, EINVAL, option, "expected a path, or fd:N with the number of a descriptor, found `%s`", text);
        if (fcntl((int)fd, F_GETFD) < 0)
                return fail_errno(err, CODE_USAGE, errno, option, "descriptor %d is not open", (int)fd);
        if (ret)
                *ret = (int)fd;
        return 1;
}

/* A file that lies in a workspace is what an earlier command has left there: a symlink to a file of the host, whose lines would go into the
 * sandbox, or a fifo that nobody writes to. So no symlink is followed but root's, which no command can make. */
static int open_source(const char *path) {
        const int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY;
        int fd = open(path, flags | O_NOFOLLOW | O_CLOEXEC);
        struct stat st;

        if (fd < 0 && errno == ELOOP) {
                if (!str_after(path, "/dev/") && !str_after(path, "/proc/") && (lstat(path, &st) < 0 || st.st_uid != 0))
                        return -ELOOP;
                fd = open(path, flags | O_CLOEXEC);
        }
        if (fd < 0)
                return -errno;
        (void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
        return fd;
}

int source_read(const char *option, const char *text, size_t max, struct str *out, struct error *err) {
        _cleanup_close_ int opened = -1;
        int fd, r = source_fd(option, text, &fd, err);

        if (r < 0)
                return r;
        if (r == 0)
                fd = opened = open_source(text);
        r = fd < 0 ? fd : file_read_fd(fd, max, out);
        return r < 0 ? fail_errno(err, CODE_USAGE, -r, option, "cannot read `%s`", text) : 0;
}
