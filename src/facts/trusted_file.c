#define _GNU_SOURCE
#include "facts/trusted_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"

#define WRONG(where, errnum, ...) fail(err, CODE_CONFIG_INVALID, (errnum), (where), __VA_ARGS__)

static int judge(int fd, const char *path, bool callers, bool last, struct error *err) {
        struct stat st;

        if (fstat(fd, &st) < 0)
                return fail_errno(err, CODE_CONFIG_INVALID, errno, path, "cannot look at this");
        if (last && !S_ISREG(st.st_mode))
                return WRONG(path, EINVAL, "expected a regular file");
        if (st.st_uid != 0 && !(callers && st.st_uid == geteuid()))
                return WRONG(path, EPERM, "expected root as the owner%s, found uid %u: whoever owns it could say what sandboxes may do",
                        callers ? ", or the caller" : "", st.st_uid);
        if (st.st_mode & (S_IWGRP | S_IWOTH) && (last || !(st.st_mode & S_ISVTX)))
                return WRONG(path, EPERM, "others may write this (mode %04o): chmod go-w it", st.st_mode & 07777);
        return 0;
}

/* Opens NAME, which ends the path that is called HERE, in DIRECTORY. */
static int step(int directory, const char *name, const char *here, bool last, struct error *err) {
        int flags = last ? O_RDONLY | O_NONBLOCK | O_NOCTTY : O_PATH | O_DIRECTORY;
        int fd = openat(directory, name, flags | O_NOFOLLOW | O_CLOEXEC), errnum = errno;
        struct stat st;

        if (fd >= 0)
                return fd;
        if (fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode))
                return WRONG(here, ELOOP, "expected no symlink on the way to this file: name it by its own path");
        return fail_errno(err, errnum == ENOENT ? CODE_NOT_FOUND : CODE_CONFIG_INVALID, errnum, here, "cannot open this");
}

int trusted_file_open(const char *path, bool callers, struct error *err) {
        _cleanup_close_ int fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
        _cleanup_str_ struct str here = { 0 };
        int r = fd < 0 ? fail_errno(err, CODE_CONFIG_INVALID, errno, "/", "cannot open this") : judge(fd, "/", callers, false, err);

        if (r == 0 && (*path != '/' || path[strlen(path) - 1] == '/'))
                r = WRONG(path, EINVAL, "expected the absolute path of a file");
        for (const char *at = path; r == 0 && *(at += strspn(at, "/"));) {
                size_t n = strcspn(at, "/");
                bool last = at[n + strspn(at + n, "/")] == '\0';
                int next;

                str_putc(&here, '/');
                str_add(&here, at, n);
                at += n;
                next = step(fd, here.text + here.size - n, here.text, last, err);
                if (next < 0)
                        return next;
                close(fd);
                fd = next;
                r = judge(fd, here.text, callers, last, err);
        }
        return r < 0 ? r : take_fd(&fd);
}

int trusted_file_read(const char *path, bool callers, size_t max, struct str *out, struct error *err) {
        _cleanup_close_ int fd = trusted_file_open(path, callers, err);
        int r;

        if (fd < 0)
                return fd;
        r = file_read_fd(fd, max, out);
        return r < 0 ? fail_errno(err, CODE_CONFIG_INVALID, -r, path, "cannot read this file") : 0;
}
