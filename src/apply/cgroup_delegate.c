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
#include "plan/ids.h"

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

/* A file that this kernel lacks is not missed: the list may be longer than what the cgroup's controllers have. */
static int give_file(int fd, const char *name, uint32_t uid, uint32_t gid) {
        return fchownat(fd, name, uid, gid, AT_SYMLINK_NOFOLLOW) < 0 && errno != ENOENT ? -errno : 0;
}

int cgroup_give(int fd, uint32_t uid, uint32_t gid) {
        _cleanup_str_ struct str list = { 0 };
        char *rest, *name;
        int r;

        if (file_read(AT_FDCWD, "/sys/kernel/cgroup/delegate", 1 << 16, &list) < 0 || list.size == 0)
                str_puts(&list, "cgroup.procs\ncgroup.threads\ncgroup.subtree_control\n");
        for (rest = list.text; (name = strsep(&rest, "\n"));)
                if (*name && !strchr(name, '/') && (r = give_file(fd, name, uid, gid)) < 0)
                        return r;
        return fchownat(fd, "", uid, gid, AT_EMPTY_PATH) < 0 ? -errno : 0;
}

static int give_away(int fd, const struct plan_ids *ids) {
        uint32_t uid, gid;

        if (!ids_outside(ids->uid_map, ids->n_uid_map, 0, &uid) || !ids_outside(ids->gid_map, ids->n_gid_map, 0, &gid))
                return 0;
        return cgroup_give(fd, uid, gid);
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
