#define _GNU_SOURCE
#include "life/leaf.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "apply/cgroup_leaf.h"
#include "base/fd.h"
#include "base/str.h"
#include "life/cgroup_claim.h"

static const char exec_prefix[] = "exec-";

enum { LINKS = 4, TRIES = 64 };

/* Leaves whose runtime has not stayed with its command are nobody's to remove, and the kernel removes only those that hold no process. The
 * runtime that has one is in its name: another that is about to remove its own, or to fill it, lives. A directory has a link for each of its
 * subdirectories (fs/kernfs/inode.c): mostly there are the two of process 1 and of the bundle's process alone, and nothing to look for. */
static void sweep(int dir) {
        _cleanup_dir_ DIR *entries = NULL;
        int listed = -1;
        struct stat st;

        if (fstat(dir, &st) < 0 || st.st_nlink <= LINKS || (listed = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
                return;
        entries = fdopendir(listed);
        if (!entries) {
                close_fd(&listed);
                return;
        }
        for (struct dirent *entry; (entry = readdir(entries));) {
                const char *number = entry->d_type == DT_DIR ? str_after(entry->d_name, exec_prefix) : NULL;
                long pid = number ? strtol(number, NULL, 10) : 0;

                if (pid > 0 && kill((pid_t)pid, 0) < 0 && errno == ESRCH)
                        (void)unlinkat(dir, entry->d_name, AT_REMOVEDIR);
        }
}

/* exec-PID: no other runtime that lives has our pid, but for one in another PID namespace, or one that has ended before its command. */
static int make_of_exec(int dir, const struct plan_cgroup *limits, char text[32], int *ret, struct error *err) {
        int r = -EEXIST;

        sweep(dir);
        for (unsigned n = 1; r == -EEXIST && n <= TRIES; n++) {
                snprintf(text, 32, n == 1 ? "%s%d" : "%s%d-%u", exec_prefix, getpid(), n);
                r = cgroup_leaf_make(dir, text, limits, ret, err);
        }
        return r;
}

static int cannot_open(const struct status_cgroup_claim *claim, int r, struct error *err) {
        if (r == -ENOENT)
                return fail(err, CODE_INVALID_STATE, ESRCH, claim->path, "container not running: the sandbox's cgroup is gone");
        return fail_errno(err, CODE_LAUNCH_FAILED, -r, claim->path, "cannot open the sandbox's cgroup");
}

int leaf_make(struct arena *arena, const struct container *container, const struct plan_cgroup *limits, const char *name, struct leaf *ret,
        struct error *err) {
        const struct status_cgroup_claim *claim = container->status.cgroup;
        _cleanup_close_ int dir = -1;
        char text[32];
        int r, fd;

        if (!claim)
                return 0;
        if ((r = cgroup_claim_open(container, &dir)) < 0)
                return cannot_open(claim, r, err);
        if (name) {
                snprintf(text, sizeof text, "%s", name);
                r = cgroup_leaf_make(dir, text, limits, &fd, err);
        } else
                r = make_of_exec(dir, limits, text, &fd, err);
        if (r == -EEXIST)
                return fail(err, CODE_BUSY, EEXIST, text, "this cgroup of the sandbox is in use");
        if (r < 0)
                return r;
        *ret = (struct leaf){ .path = arena_printf(arena, "%s/%s", claim->path, text), .fd = fd };
        return 0;
}
