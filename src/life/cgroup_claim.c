#define _GNU_SOURCE
#include "life/cgroup_claim.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"

void cgroup_claim_identify(struct status_cgroup_claim *claim, int fd) {
        struct stat st;

        if (fstat(fd, &st) < 0)
                return;
        claim->inode = st.st_ino;
        claim->has |= STATUS_CGROUP_CLAIM_HAS_INODE;
}

static bool is_claimed(const struct container *container, const struct stat *st) {
        const struct status_cgroup_claim *claim = container->status.cgroup;

        return (!(claim->has & STATUS_CGROUP_CLAIM_HAS_INODE) || st->st_ino == claim->inode) && container_is_of_this_boot(container);
}

int cgroup_claim_look(const struct container *container, enum cgroup_claim *ret) {
        struct stat st;

        if (stat(container->status.cgroup->path, &st) == 0)
                *ret = is_claimed(container, &st) ? CGROUP_CLAIM_OURS : CGROUP_CLAIM_ANOTHERS;
        else if (errno == ENOENT)
                *ret = CGROUP_CLAIM_GONE;
        else
                return -errno;
        return 0;
}

int cgroup_claim_open(const struct container *container, int *ret) {
        _cleanup_close_ int fd = -1;
        struct stat st;

        if (!container->status.cgroup)
                return -ENOENT;
        fd = open(container->status.cgroup->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0 || fstat(fd, &st) < 0)
                return -errno;
        if (!is_claimed(container, &st))
                return -ENOENT;
        *ret = take_fd(&fd);
        return 0;
}

/* ---- taking over -------------------------------------------------------------------------------------------------------- */

static int busy(const char *path, const char *id, const char *what, struct error *err) {
        return fail(err, CODE_BUSY, EBUSY, path, "the cgroup is that of container `%s`, which %s; give linux.cgroupsPath another value", id, what);
}

/* Finds the container that claims PATH and locks it. -ENOENT when there is none. */
static int find_claimant(struct arena *arena, const char *root, const char *id, const char *path, struct container *ret, struct error *err) {
        _cleanup_dir_ DIR *dir = opendir(root);

        for (struct dirent *entry; dir && (entry = readdir(dir));) {
                _cleanup_container_ struct container c = CONTAINER_CLOSED;
                const char *name;

                if (!state_id_valid(entry->d_name) || streq(entry->d_name, id))
                        continue;
                name = arena_strdup(arena, entry->d_name);
                if (container_open(arena, root, name, CONTAINER_UNLOCKED, &c, err) < 0 || !c.status.cgroup || c.status.cgroup->ours == 0 ||
                    !streq(c.status.cgroup->path, path))
                        continue;
                container_close(&c);
                /* Its creator may be at work, and then waits for nobody but itself; so must we not for it, whose lock others wait for. */
                return container_open(arena, root, name, CONTAINER_LOCKED_AT_ONCE, ret, err);
        }
        return -ENOENT;
}

int cgroup_claim_take_over(struct arena *arena, const char *root, const char *id, struct status_cgroup_claim *claim, struct error *err) {
        _cleanup_container_ struct container other = CONTAINER_CLOSED;
        _cleanup_close_ int fd = -1;
        enum oci_status status;
        int r = find_claimant(arena, root, id, claim->path, &other, err);

        if (r == -ENOENT)
                return 0;
        if (r < 0 || (r = container_state(&other, &status, NULL, err)) < 0)
                return r;
        if (status != OCI_STATUS_STOPPED)
                return busy(claim->path, other.id, "lives", err);
        r = cgroup_claim_open(&other, &fd);
        if (r == -ENOENT) /* not its own any more */
                return 0;
        if (r < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, -r, claim->path, "cannot look at the cgroup of container `%s`", other.id);
        if (rmdir(claim->path) < 0 && errno != ENOENT)
                return busy(claim->path, other.id, "is stopped and has not been deleted, and which is not empty", err);
        claim->ours = other.status.cgroup->ours;
        other.status.cgroup = NULL;
        return container_save(&other, err);
}
