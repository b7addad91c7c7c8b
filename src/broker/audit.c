#define _GNU_SOURCE
#include "broker/audit.h"

#include "base/fd.h"
#include "base/str.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

/* So that with one line more it is no longer than a pipe takes as a whole (pipe(7), PIPE_BUF). */
#define GATHERED_MAX 3072u

static int take_descriptor(const char *number, struct audit *audit, struct error *err) {
        uint64_t n;

        if (str_to_u64(number, INT_MAX, &n) < 0)
                return fail(err, CODE_USAGE, EINVAL, "--audit", "expected a path or fd:N, found `fd:%s`", number);
        audit->fd = fcntl((int)n, F_DUPFD_CLOEXEC, 3);
        if (audit->fd < 0)
                return fail_errno(err, CODE_USAGE, errno, "--audit", "cannot use descriptor %s", number);
        return 0;
}

static int open_files(const char *path, struct audit *audit, struct error *err) {
        const int flags = O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
        char older[PATH_MAX];

        if ((size_t)snprintf(older, sizeof older, "%s.1", path) >= sizeof older)
                return fail(err, CODE_USAGE, ENAMETOOLONG, "--audit", "this path is too long");
        audit->fd = open(path, flags | O_CLOEXEC, 0640);
        if (audit->fd < 0)
                return fail_errno(err, CODE_USAGE, errno, "--audit", "cannot open %s", path);
        audit->older = open(older, flags | O_CLOEXEC, 0640);
        if (audit->older < 0)
                return fail_errno(err, CODE_USAGE, errno, "--audit", "cannot open %s", older);
        return 0;
}

int audit_open(const char *where, struct audit *ret, struct error *err) {
        const char *number = where ? str_after(where, "fd:") : NULL;
        struct audit audit = { .fd = -1, .older = -1 };
        struct stat st;
        int r = !where ? 0 : number ? take_descriptor(number, &audit, err) : open_files(where, &audit, err);

        if (r == 0 && audit.fd >= 0 && fstat(audit.fd, &st) < 0)
                r = fail_errno(err, CODE_USAGE, errno, "--audit", "cannot look at %s", where);
        if (r < 0) {
                audit_close(&audit);
                return r;
        }
        audit.regular = audit.fd >= 0 && S_ISREG(st.st_mode);
        audit.size = audit.regular ? (uint64_t)st.st_size : 0;
        /* Who reads a pipe may have stopped reading. Of a file nobody else shares the flags that matter. */
        if (audit.fd >= 0 && !audit.regular)
                (void)fcntl(audit.fd, F_SETFL, fcntl(audit.fd, F_GETFL) | O_NONBLOCK);
        *ret = audit;
        return 0;
}

void audit_close(struct audit *audit) {
        close_fd(&audit->fd);
        close_fd(&audit->older);
        str_free(&audit->gathered);
}

/* By copying, because after the lock-down there are no names any more that could be changed. The files' size is what bounds the time this
 * takes. What finds no room is lost, as the oldest there is. */
static void rotate(struct audit *audit) {
        char buffer[1 << 16];
        off_t at = 0;
        ssize_t n;

        if (audit->older >= 0 && ftruncate(audit->older, 0) == 0)
                while ((n = pread(audit->fd, buffer, sizeof buffer, at)) > 0 && write(audit->older, buffer, (size_t)n) == n)
                        at += n;
        if (ftruncate(audit->fd, 0) < 0)
                return;
        /* A descriptor of somebody else's need not append. */
        (void)lseek(audit->fd, 0, SEEK_SET);
        audit->size = 0;
}

/* All of it or none. */
static bool write_whole(struct audit *audit, const char *text, size_t size) {
        ssize_t n;

        if (audit->regular && audit->size + size > AUDIT_FILE_MAX)
                rotate(audit);
        if (audit->regular && audit->size + size > AUDIT_FILE_MAX)
                return false;
        n = write(audit->fd, text, size);
        if (n == (ssize_t)size) {
                audit->size += size;
                return true;
        }
        if (n > 0 && audit->regular && ftruncate(audit->fd, (off_t)audit->size) == 0)
                (void)lseek(audit->fd, (off_t)audit->size, SEEK_SET);
        return false;
}

/* Where there is no room for all, there may be for some. */
static void write_lines(struct audit *audit, const char *text, const char *end) {
        for (uint64_t told = audit->told; text < end; told = 0) {
                const char *next = (const char *)memchr(text, '\n', (size_t)(end - text)) + 1;

                if (!write_whole(audit, text, (size_t)(next - text)))
                        audit->lost += told + 1;
                text = next;
        }
}

void audit_flush(struct audit *audit) {
        struct str *all = &audit->gathered;

        if (all->size > 0 && !write_whole(audit, all->text, all->size))
                write_lines(audit, all->text, all->text + all->size);
        all->size = 0;
        audit->told = 0;
}

void audit_add(struct audit *audit, struct sage_audit *line) {
        struct str *all = &audit->gathered;
        size_t before = all->size;
        struct error err;

        if (before == 0 && audit->lost) {
                line->has |= SAGE_AUDIT_HAS_LOST;
                line->lost = audit->lost;
        }
        if (spec_encode(&sage_audit_type, line, all, 0, &err) < 0) {
                all->size = before;
                audit->lost++;
                return;
        }
        str_putc(all, '\n');
        if (before == 0) {
                audit->told = audit->lost;
                audit->lost = 0;
        }
        if (all->size >= GATHERED_MAX)
                audit_flush(audit);
}
