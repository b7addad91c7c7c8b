#include "life/pid_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "base/fd.h"
#include "base/fd_send.h"
#include "base/file.h"
#include "base/str.h"

int pid_file_write(const char *path, pid_t pid, struct error *err) {
        _cleanup_close_ int fd = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644) : -1;
        char text[16];
        int n = snprintf(text, sizeof text, "%d", pid), r;

        if (!path)
                return 0;
        r = fd < 0 ? -errno : file_write_all(fd, text, (size_t)n);
        return r < 0 ? fail_errno(err, CODE_LAUNCH_FAILED, -r, path, "cannot write the pid file") : 0;
}

int pidfd_send(const char *path, const char *where, const char *role, int pidfd, struct error *err) {
        return path ? fd_send(path, "the pidfd socket", where, role, strlen(role), pidfd, err) : 0;
}
