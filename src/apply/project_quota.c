#define _GNU_SOURCE
#include "apply/project_quota.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/fd.h"
#include "facts/quota.h"
#include "plan/disk.h"

/* 1 MiB is a large write for a program, and 1/8 of the limit where that is less. */
#define LARGE_WRITE (UINT64_C(1) << 20)

int project_quota_check(struct arena *arena, int mount, const char *mount_path, int tree, const char *tree_path, uint64_t bytes,
        const char *field, uint32_t *ret_project, struct error *err) {
        struct facts_quota quota = { .mount = mount_path };
        struct facts_project project = { .workspace = tree_path, .mount = mount_path };
        const struct facts_facts facts = { .quotas = &quota, .n_quotas = 1, .project = &project };
        _cleanup_close_ int fd = openat(tree, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        int r;

        if (fd < 0)
                return fail_errno(err, CODE_WORKSPACE_INVALID, errno, tree_path, "cannot open the workspace");
        quota_ask_state(mount, &quota);
        quota_probe_project(fd, mount, &project);
        if ((r = admit_disk(arena, &facts, bytes, field, err)) < 0)
                return r;
        *ret_project = project.id;
        return 0;
}

int project_quota_usage(int fd, uint32_t project, struct sage_disk *ret) {
        struct quota_project found;
        int r = quota_of_project(fd, project, &found);

        if (r < 0)
                return r;
        *ret = (struct sage_disk){
                .has = SAGE_DISK_HAS_USED_BYTES | SAGE_DISK_HAS_LIMIT_BYTES | SAGE_DISK_HAS_USED_INODES | SAGE_DISK_HAS_LIMIT_INODES,
                .used_bytes = found.used_bytes,
                .limit_bytes = found.block_hard,
                .used_inodes = found.used_inodes,
                .limit_inodes = found.inode_hard,
        };
        return 0;
}

bool project_quota_full(const struct sage_disk *disk) {
        uint64_t little = disk->limit_bytes / 8 < LARGE_WRITE ? disk->limit_bytes / 8 : LARGE_WRITE;

        return (disk->limit_bytes && disk->used_bytes + little > disk->limit_bytes) ||
                (disk->limit_inodes && disk->used_inodes >= disk->limit_inodes);
}
