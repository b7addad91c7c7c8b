/* XFS project quotas, the hard limit on disk use: which file systems count and enforce them, and whether we may read them; and the project
 * that one workspace belongs to. */
#define _GNU_SOURCE
#include "facts/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/fd.h"
#include "base/file.h"
#include "facts/quota.h"

#define MOUNTINFO_MAX (16u << 20)
#define QUOTAS 64

static struct facts_quota probe_quota(struct arena *arena, const char *mount) {
        struct facts_quota quota = { .mount = arena_strdup(arena, mount) };
        _cleanup_close_ int fd = open(mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        if (fd < 0) {
                quota.errnum = errno;
                quota.has |= FACTS_QUOTA_HAS_ERRNUM;
        } else {
                quota_ask_state(fd, &quota);
        }
        return quota;
}

struct scan {
        struct arena *arena;
        struct facts_quota *quotas;
        size_t n;
};

static bool collect_xfs(const struct probe_mount *mount, void *data) {
        struct scan *scan = data;

        if (streq(mount->type, "xfs"))
                scan->quotas[scan->n++] = probe_quota(scan->arena, mount->point);
        return scan->n < QUOTAS;
}

int probe_quotas(struct arena *arena, const char *mount, struct facts_quota **ret, size_t *ret_n, struct error *err) {
        struct scan scan = { .arena = arena, .quotas = arena_array(arena, struct facts_quota, QUOTAS) };
        _cleanup_str_ struct str text = { 0 };
        int r;

        if (mount) {
                scan.quotas[scan.n++] = probe_quota(arena, mount);
        } else {
                r = file_read(AT_FDCWD, "/proc/self/mountinfo", MOUNTINFO_MAX, &text);
                if (r < 0)
                        return fail_errno(err, CODE_CAPABILITY_UNSUPPORTED, -r, "/proc/self/mountinfo", "cannot read our mounts");
                probe_mountinfo(text.text, collect_xfs, &scan);
        }
        *ret = scan.quotas;
        *ret_n = scan.n;
        return 0;
}

int probe_project(struct arena *arena, const char *workspace, const char *mount, struct facts_project **ret, struct error *err) {
        struct facts_project *project = arena_new(arena, struct facts_project);
        _cleanup_close_ int tree = open(workspace, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        _cleanup_close_ int top = tree < 0 ? -1 : open(mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        if (tree < 0)
                return fail_errno(err, CODE_WORKSPACE_INVALID, errno, workspace, "cannot open the workspace");
        project->workspace = arena_strdup(arena, workspace);
        project->mount = arena_strdup(arena, mount);
        if (top < 0) {
                project->errnum = errno;
                project->has |= FACTS_PROJECT_HAS_ERRNUM;
        } else {
                quota_probe_project(tree, top, project);
        }
        *ret = project;
        return 0;
}
