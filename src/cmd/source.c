#include "cmd/source.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>

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

int source_read(const char *option, const char *text, size_t max, struct str *out, struct error *err) {
        int fd, r = source_fd(option, text, &fd, err);

        if (r < 0)
                return r;
        r = r > 0 ? file_read_fd(fd, max, out) : file_read(AT_FDCWD, text, max, out);
        return r < 0 ? fail_errno(err, CODE_USAGE, -r, option, "cannot read `%s`", text) : 0;
}
