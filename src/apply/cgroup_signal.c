#define _GNU_SOURCE
#include "apply/cgroup_signal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>

#include "apply/cgroup.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/process.h"

/* A container with a delegated cgroup may nest its own as deep as it likes; nobody needs this many. */
enum { DEPTH_MAX = 64, PROCS_MAX = 16 << 20 };

/* By pidfd: a pid that was reused since the file was read would have to have been reused before pidfd_open too, and the list is read
 * just before. */
static void signal_one(pid_t pid, int signal) {
        _cleanup_close_ int pidfd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;

        if (pidfd >= 0)
                (void)process_signal(pidfd, signal);
}

static int signal_members(int dir, int signal) {
        _cleanup_str_ struct str procs = { 0 };
        int r = file_read(dir, "cgroup.procs", PROCS_MAX, &procs);

        if (r < 0)
                return r == -ENOENT || r == -ENODEV ? 0 : r;
        for (char *at = procs.text, *end; *at; at = end + (*end == '\n')) {
                signal_one((pid_t)strtol(at, &end, 10), signal);
                if (end == at)
                        break;
        }
        return 0;
}

static int signal_tree(int dir, int signal, int depth) {
        _cleanup_dir_ DIR *entries = NULL;
        _cleanup_close_ int listed = -1;
        int r = signal_members(dir, signal);

        if (r < 0 || depth == 0)
                return r;
        listed = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        entries = listed < 0 ? NULL : fdopendir(listed);
        if (!entries)
                return 0;
        take_fd(&listed);
        for (struct dirent *entry; r == 0 && (entry = readdir(entries)); ) {
                _cleanup_close_ int child = -1;

                if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
                        continue;
                child = openat(dir, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
                if (child >= 0)
                        r = signal_tree(child, signal, depth - 1);
        }
        return r;
}

int cgroup_signal(const char *path, int signal, struct error *err) {
        _cleanup_close_ int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        int r;

        if (dir < 0)
                return errno == ENOENT ? 0 : fail_errno(err, CODE_INTERNAL, errno, path, "cannot open the container's cgroup");
        if (signal == SIGKILL)
                return cgroup_kill(dir, err);
        r = signal_tree(dir, signal, DEPTH_MAX);
        return r < 0 ? fail_errno(err, CODE_INTERNAL, -r, path, "cannot list the processes of the container") : 0;
}
