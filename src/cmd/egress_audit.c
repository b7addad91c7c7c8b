#define _GNU_SOURCE
#include "cmd/egress.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/signals.h"
#include "cmd/egress_report.h"

#define CHUNK 65536u
#define OLDER_MAX (64u << 20) /* many times what a broker makes of it */
#define TRIES 3

/* An audit's two files. The broker copies the one that is full to PATH.1 and cuts it to nothing (broker/audit.c): neither is ever another
 * file than it was. */
struct files {
        int current, older; /* older: -1 where there is none */
        off_t at;           /* read so far of current */
        off_t known;        /* its size when we last looked, at least AT: smaller, and it has become the older one since */
};

static void files_close(struct files *f) {
        close_fd(&f->current);
        close_fd(&f->older);
}

/* Of a path that somebody else may write to: no link to anywhere, and nothing to wait for. */
static int open_file(const char *path, int *ret_fd, struct error *err) {
        _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
        struct stat st;

        if (fd < 0)
                return fail_errno(err, errno == ENOENT ? CODE_NOT_FOUND : CODE_USAGE, errno, "--audit", "cannot open %s", path);
        if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
                return fail(err, CODE_USAGE, EINVAL, "--audit", "expected a regular file: %s", path);
        *ret_fd = take_fd(&fd);
        return 0;
}

static int open_older(const char *path, struct files *f, struct error *err) {
        char older[PATH_MAX];
        int r;

        if ((size_t)snprintf(older, sizeof older, "%s.1", path) >= sizeof older)
                return fail(err, CODE_USAGE, ENAMETOOLONG, "--audit", "this path is too long");
        r = open_file(older, &f->older, err);
        return r == -ENOENT ? 0 : r;
}

static int files_open(const char *path, struct files *f, struct error *err) {
        int r = open_file(path, &f->current, err);

        return r < 0 ? r : open_older(path, f, err);
}

static int put(struct str *out, struct error *err) {
        int r = command_print(out, "the audit", err);

        str_free(out);
        return r;
}

/* From *AT to the end. */
static int read_on(struct egress_report *report, int fd, off_t *at, struct str *out, struct error *err) {
        char buffer[CHUNK];
        ssize_t n;
        int r;

        while ((n = pread(fd, buffer, sizeof buffer, *at)) > 0) {
                *at += n;
                egress_report_feed(report, buffer, (size_t)n, out);
                if ((r = put(out, err)) < 0)
                        return r;
        }
        return n < 0 ? fail_errno(err, CODE_INTERNAL, errno, "", "cannot read the audit") : 0;
}

static struct stat look_at(int fd) {
        struct stat st = { 0 };

        (void)fstat(fd, &st);
        return st;
}

static bool is_unchanged(const struct stat *before, const struct stat *after) {
        return before->st_size == after->st_size && before->st_mtim.tv_sec == after->st_mtim.tv_sec &&
                before->st_mtim.tv_nsec == after->st_mtim.tv_nsec;
}

/* As a whole, and again when it was replaced meanwhile: what is printed cannot be taken back. */
static int read_older(struct egress_report *report, struct files *f, struct str *out, struct error *err) {
        for (int tries = 0; f->older >= 0; tries++) {
                _cleanup_str_ struct str text = { 0 };
                struct stat before = look_at(f->older), after;
                int r = -EIO;

                f->known = look_at(f->current).st_size;
                if (lseek(f->older, 0, SEEK_SET) < 0 || (r = file_read_fd(f->older, OLDER_MAX, &text)) < 0)
                        return fail_errno(err, CODE_INTERNAL, -r, "--audit", "cannot read the older file");
                after = look_at(f->older);
                if (tries < TRIES && (!is_unchanged(&before, &after) || look_at(f->current).st_size < f->known))
                        continue;
                egress_report_feed(report, text.text ? text.text : "", text.size, out);
                egress_report_end_file(report, out);
                return put(out, err);
        }
        return 0;
}

/* What has been added. Where the file became shorter, what we have not seen of it stands in the older one, at the same place. */
static int read_added(struct egress_report *report, const char *path, struct files *f, struct str *out, struct error *err) {
        int r;

        if (look_at(f->current).st_size < f->known) {
                if (f->older < 0 && (r = open_older(path, f, err)) < 0)
                        return r;
                if (f->older >= 0 && (r = read_on(report, f->older, &f->at, out, err)) < 0)
                        return r;
                egress_report_end_file(report, out);
                f->at = 0;
        }
        r = read_on(report, f->current, &f->at, out, err);
        f->known = f->at;
        return r;
}

/* The signals that should end us are taken for what they are when all that was added has been shown. */
static int open_signals(struct interruption *ret, struct error *err) {
        static const int ending[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT };
        sigset_t set;

        sigemptyset(&set);
        for (size_t i = 0; i < ELEMENTSOF(ending); i++)
                sigaddset(&set, ending[i]);
        if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
                return fail_errno(err, CODE_INTERNAL, errno, "", "cannot block signals");
        return interruption_open(ret, err);
}

/* By its descriptor: another file may have its name by now. */
static int open_watch(int fd, int *ret_watch, struct error *err) {
        _cleanup_close_ int watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
        char name[64];

        snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
        if (watch < 0 || inotify_add_watch(watch, name, IN_MODIFY) < 0)
                return fail_errno(err, CODE_INTERNAL, errno, "inotify", "cannot watch the audit");
        *ret_watch = take_fd(&watch);
        return 0;
}

/* Returns when a signal asks for the end. */
static int follow(struct egress_report *report, const char *path, struct files *f, struct str *out, struct error *err) {
        struct interruption interruption = INTERRUPTION_NONE;
        _cleanup_close_ int watch = -1, signals = -1;
        char events[4096];
        int r = open_watch(f->current, &watch, err);

        if (r < 0 || (r = open_signals(&interruption, err)) < 0)
                return r;
        signals = interruption.fd;
        for (;;) {
                if ((r = read_added(report, path, f, out, err)) < 0 || (r = put(out, err)) < 0)
                        return r;
                if ((r = interruption_wait(&interruption, watch, err)) < 0)
                        return interruption.signal ? read_added(report, path, f, out, err) : r;
                while (read(watch, events, sizeof events) > 0)
                        continue;
        }
}

int egress_audit(const char *path, bool follows, bool json, struct error *err) {
        __attribute__((cleanup(files_close))) struct files f = { .current = -1, .older = -1 };
        _cleanup_egress_report_ struct egress_report report = { .json = json };
        _cleanup_str_ struct str out = { 0 };
        int r = files_open(path, &f, err);

        if (r < 0)
                return r;
        egress_report_begin(&report, &out);
        r = read_older(&report, &f, &out, err);
        if (r < 0)
                return r;
        r = follows ? follow(&report, path, &f, &out, err) : read_added(&report, path, &f, &out, err);
        if (r < 0)
                return r;
        egress_report_end_file(&report, &out);
        egress_report_sum(&report, &out);
        return put(&out, err);
}
