#define _GNU_SOURCE
#include "apply/cgroup_delegate.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/str.h"

static const char field[] = "annotations[\"run.oci.delegate-cgroup\"]";

/* mkdir -p below FD; ret is the last one. */
static int make_below(int fd, const char *below, int *ret) {
        _cleanup_close_ int at = fcntl(fd, F_DUPFD_CLOEXEC, 3);

        while (at >= 0 && *(below += strspn(below, "/"))) {
                size_t n = strcspn(below, "/");
                char name[256];
                int next;

                if (n >= sizeof name)
                        return -ENAMETOOLONG;
                memcpy(name, below, n);
                name[n] = '\0';
                below += n;
                if (mkdirat(at, name, 0755) < 0 && errno != EEXIST)
                        return -errno;
                next = openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
                close_fd(&at);
                at = next;
        }
        if (at < 0)
                return -errno;
        *ret = take_fd(&at);
        return 0;
}

static const struct plan_id_range *range_of_root(const struct plan_id_range *map, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (map[i].inside == 0 && map[i].count > 0)
                        return &map[i];
        return NULL;
}

/* cgroup-v2.rst, "Model of Delegation": the directory and these files, not the limits, which are the parent's. */
static int give_away(int fd, const struct plan_ids *ids) {
        static const char *const files[] = { "cgroup.procs", "cgroup.threads", "cgroup.subtree_control" };
        const struct plan_id_range *uids = range_of_root(ids->uid_map, ids->n_uid_map), *gids = range_of_root(ids->gid_map, ids->n_gid_map);

        if (!uids || !gids)
                return 0;
        for (size_t i = 0; i < ELEMENTSOF(files); i++)
                if (fchownat(fd, files[i], uids->outside, gids->outside, 0) < 0)
                        return -errno;
        return fchownat(fd, "", uids->outside, gids->outside, AT_EMPTY_PATH) < 0 ? -errno : 0;
}

int cgroup_delegate(int fd, const char *below, const struct plan_ids *ids, pid_t pid, struct error *err) {
        _cleanup_close_ int made = -1;
        char text[16];
        int n = snprintf(text, sizeof text, "%d", pid), r;

        if ((r = make_below(fd, below, &made)) < 0 || (r = give_away(made, ids)) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, -r, field, "cannot make the cgroup %s", below);
        r = file_write(made, "cgroup.procs", text, (size_t)n);
        return r < 0 ? fail_errno(err, CODE_LAUNCH_FAILED, -r, field, "cannot move the container's process to the cgroup %s", below) : 0;
}
