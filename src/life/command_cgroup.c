#define _GNU_SOURCE
#include "life/command_cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "apply/cgroup.h"
#include "base/fd.h"

enum { NAMES_MAX = 1000 };

/* "exec-PID" is free but for what a runtime that was killed has left: that is empty by now, or its command still runs. */
static int make(int container, char name[static NAME_MAX]) {
        for (int n = 0; n < NAMES_MAX; n++) {
                if (n == 0)
                        snprintf(name, NAME_MAX, "exec-%d", getpid());
                else
                        snprintf(name, NAME_MAX, "exec-%d-%d", getpid(), n);
                if (mkdirat(container, name, 0755) == 0)
                        return 0;
                if (errno != EEXIST)
                        return -errno;
                if (unlinkat(container, name, AT_REMOVEDIR) == 0)
                        n--;
        }
        return -EEXIST;
}

int command_cgroup_make(struct arena *arena, int container, struct command_cgroup *ret, struct error *err) {
        char name[NAME_MAX], path[PATH_MAX];
        ssize_t n;
        int r;

        *ret = (struct command_cgroup){ .fd = -1, .container = container };
        if (container < 0)
                return 0;
        if ((r = make(container, name)) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, -r, "", "cannot make a cgroup for the command below its container's");
        ret->fd = openat(container, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        n = ret->fd < 0 ? -1 : readlink(fd_path(ret->fd).path, path, sizeof path - 1);
        if (n < 0) {
                r = -errno;
                (void)unlinkat(container, name, AT_REMOVEDIR);
                return fail_errno(err, CODE_LAUNCH_FAILED, -r, "", "cannot open the command's cgroup");
        }
        path[n] = '\0';
        ret->path = arena_strdup(arena, path);
        return 0;
}

int command_cgroup_remove(struct command_cgroup *cgroup, struct error *err) {
        int r = cgroup->path ? cgroup_remove(cgroup->path, 1, err) : 0;

        command_cgroup_close(cgroup);
        return r;
}

void command_cgroup_close(struct command_cgroup *cgroup) {
        close_fd(&cgroup->fd);
        close_fd(&cgroup->container);
        cgroup->path = NULL;
}
