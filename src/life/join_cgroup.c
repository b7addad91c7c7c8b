#define _GNU_SOURCE
#include "life/join_cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>

#include "base/fd.h"
#include "base/process.h"
#include "facts/facts.h"
#include "life/cgroup_claim.h"

static bool leads_out(const char *path) {
        while (*(path += strspn(path, "/"))) {
                size_t n = strcspn(path, "/");

                if (n == 2 && path[0] == '.' && path[1] == '.')
                        return true;
                path += n;
        }
        return false;
}

int join_cgroup_of_init(const struct container *container, int *ret, struct error *err) {
        char below[PATH_MAX / 2], path[PATH_MAX];
        int fd, r = process_cgroup(container->status.init->pid, below, sizeof below);

        if (r == 0 && leads_out(below)) /* cgroup_namespaces(7): it is not below the root of ours */
                r = -ENOENT;
        if (r < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, -r, "", "cannot tell which cgroup the container's process is in");
        snprintf(path, sizeof path, "%s%s", facts_cgroup_mount(), below);
        fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, path, "cannot open the cgroup of the container's process");
        *ret = fd;
        return 0;
}

int join_cgroup_open(const struct container *container, const char *below, int *ret, struct error *err) {
        _cleanup_close_ int claimed = -1;
        int fd, r;

        if (!container->status.cgroup) {
                if (below)
                        return fail(err, CODE_USAGE, EINVAL, "--cgroup", "the container has no cgroup");
                *ret = -1;
                return 0;
        }
        if (below && leads_out(below))
                return fail(err, CODE_USAGE, EINVAL, "--cgroup", "bad sub cgroup path `%s`: expected one below the container's own", below);
        r = cgroup_claim_open(container, &claimed);
        if (r == -ENOENT && !below)
                return join_cgroup_of_init(container, ret, err);
        if (r < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, -r, container->status.cgroup->path, "cannot open the container's cgroup");
        if (!below) {
                *ret = take_fd(&claimed);
                return 0;
        }
        below += strspn(below, "/");
        fd = openat(claimed, *below ? below : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "--cgroup", "cannot open the cgroup %s/%s", container->status.cgroup->path, below);
        *ret = fd;
        return 0;
}
