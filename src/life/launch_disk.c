/* The disk of a strict sandbox with a hard limit: its project is asked once more, of the very directories that were opened for its mounts;
 * every name in them is looked at; and it gets its private room. */
#define _GNU_SOURCE
#include "life/launch_steps.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "apply/project_quota.h"
#include "apply/scratch.h"
#include "apply/workspace_walk.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/log.h"
#include "facts/probe.h"
#include "plan/disk.h"

#define FIELD_DISK "sage.sandbox.resources.disk_mb"
#define MOUNTINFO_MAX (16u << 20)
#define FIELD_MOUNT "sage.sandbox.host.linux_quota_mount"

/* Directories of the host that the sandbox may write, the workspace (read-only or not) the first. */
struct writable {
        struct walk_top *tops;
        size_t n;
};

static bool is_writable(const struct plan_mount *m) {
        return m->kind == PLAN_MOUNT_KIND_BIND && m->only && !m->recursive;
}

static void find_writable(struct launch *l, struct writable *ret) {
        const char *workspace = l->plan->sage->filesystem->workspace_root;

        ret->tops = arena_array(l->arena, struct walk_top, l->plan->n_mounts + 1);
        ret->n = 1;
        for (size_t i = 0; i < l->plan->n_mounts; i++) {
                const struct plan_mount *m = &l->plan->mounts[i];
                bool first = streq(m->destination, workspace);

                if (is_writable(m))
                        ret->tops[first ? 0 : ret->n++] = (struct walk_top){ .fd = l->child.sources[i], .path = m->source };
        }
}

/* What the plan has of the file system's mount: it is administered by name, and what lies below it is compared by device. */
static int open_mount(const char *path, struct error *err) {
        int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        return fd < 0 ? fail_errno(err, CODE_RESOURCE_LIMITS_UNSUPPORTED, errno, FIELD_MOUNT, "cannot open %s", path) : fd;
}

struct search {
        const struct writable *writable;
        const char *found;
        struct arena *arena;
};

static bool is_elsewhere(const struct probe_mount *mount, void *data) {
        struct search *search = data;

        for (size_t i = 0; i < search->writable->n; i++)
                if (path_is_below(mount->point, search->writable->tops[i].path) && !streq(mount->point, search->writable->tops[i].path))
                        search->found = arena_strdup(search->arena, mount->point);
        return !search->found;
}

/* The trees that are mounted leave out what is mounted in them: whoever put it there means it to be seen, and is told that it is not. */
static int refuse_mounts(struct launch *l, const struct writable *writable, struct error *err) {
        struct search search = { .writable = writable, .arena = l->arena };
        _cleanup_str_ struct str text = { 0 };
        int r = file_read(AT_FDCWD, "/proc/self/mountinfo", MOUNTINFO_MAX, &text);

        if (r < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, -r, "/proc/self/mountinfo", "cannot read our mounts");
        probe_mountinfo(text.text, is_elsewhere, &search);
        return search.found ? fail(err, CODE_WORKSPACE_INVALID, EXDEV, search.found, "something is mounted on this directory") : 0;
}

static int look_at(struct launch *l, int mount, const struct writable *writable, uint32_t *ret_project, struct error *err) {
        const struct sage_request *sage = l->plan->sage;
        struct walk_rules rules = {
                .in_project = true, .allow_symlinks = sage->filesystem->allow_symlinks, .interruption = l->request->interruption
        };
        struct walk_sum sum;
        int r = project_quota_check(l->arena, mount, sage->host->linux_quota_mount, writable->tops[0].fd, writable->tops[0].path,
                disk_limit(sage), FIELD_DISK, &rules.project, err);

        if (r < 0 || (r = refuse_mounts(l, writable, err)) < 0 || (r = workspace_walk(writable->tops, writable->n, &rules, &sum, err)) < 0)
                return r;
        log_debug("%s: %llu names in %llu directories are all project %u's", l->plan->id, (unsigned long long)sum.names,
                (unsigned long long)sum.directories, rules.project);
        *ret_project = rules.project;
        return 0;
}

/* ---- private room -------------------------------------------------------------------------------------------------------- */

static int clone_of(int directory, const struct plan_mount *m, struct error *err) {
        struct mount_attr attributes = { .attr_set = m->attributes_set, .propagation = MS_PRIVATE };
        _cleanup_close_ int tree = open_tree(directory, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);

        if (tree < 0 || mount_setattr(tree, "", AT_EMPTY_PATH, &attributes, sizeof attributes) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, m->field, "cannot bind its private directory");
        return take_fd(&tree);
}

static int give_room(struct launch *l, const struct scratch *scratch, struct error *err) {
        for (size_t i = 0; i < l->plan->n_mounts; i++) {
                const struct plan_mount *m = &l->plan->mounts[i];
                int tree;

                if (!(m->has & PLAN_MOUNT_HAS_SCRATCH))
                        continue;
                tree = clone_of(m->scratch == PLAN_SCRATCH_TMP ? scratch->tmp : scratch->shm, m, err);
                if (tree < 0)
                        return tree;
                l->child.sources[i] = tree;
        }
        return 0;
}

/* Where sandboxes of this workspace have their room inside it: an empty directory for whoever looks, that nobody can rename. */
static void hide_room(struct launch *l) {
        const struct plan_plan *plan = l->plan;
        struct plan_plan *copy = arena_new(l->arena, struct plan_plan);
        struct plan_mount *mounts = arena_array(l->arena, struct plan_mount, plan->n_mounts + 1);
        int *sources = arena_array(l->arena, int, plan->n_mounts + 1);

        memcpy(mounts, plan->mounts, plan->n_mounts * sizeof *mounts);
        memcpy(sources, l->child.sources, plan->n_mounts * sizeof *sources);
        sources[plan->n_mounts] = -1;
        mounts[plan->n_mounts] = (struct plan_mount){
                .field = SCRATCH_IN_WORKSPACE,
                .destination = arena_printf(l->arena, "%s/%s", plan->sage->filesystem->workspace_root, SCRATCH_IN_WORKSPACE),
                .destination_nofollow = true,
                .kind = PLAN_MOUNT_KIND_FILESYSTEM,
                .type = "tmpfs",
                .source = "tmpfs",
                .flags = MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC,
                .data = "mode=0555,size=4k,nr_inodes=1",
        };
        mounts[plan->n_mounts].has |= PLAN_MOUNT_HAS_DESTINATION_NOFOLLOW;
        *copy = *plan;
        copy->mounts = mounts;
        copy->n_mounts++;
        l->plan = l->child.plan = copy;
        l->child.sources = sources;
}

static bool has_room_inside(int workspace) {
        struct stat st;

        return fstatat(workspace, SCRATCH_IN_WORKSPACE, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static int make_room(struct launch *l, int mount, const struct walk_top *workspace, uint32_t project, struct error *err) {
        const struct plan_plan *plan = l->plan;
        const struct scratch_request request = {
                .id = plan->id,
                .workspace = workspace->fd,
                .workspace_path = workspace->path,
                .mount = mount,
                .mount_path = plan->sage->host->linux_quota_mount,
                .project = project,
                .uid = plan->sandbox->uid,
                .gid = plan->sandbox->gid,
        };
        struct container *c = &l->result.container;
        _cleanup_scratch_ struct scratch scratch = SCRATCH_CLOSED;
        int r;

        if ((r = scratch_claim(l->arena, &request, &c->status.scratch, err)) < 0 || (r = container_save(c, err)) < 0 ||
                (r = scratch_make(&request, c->status.scratch, &scratch, err)) < 0 || (r = give_room(l, &scratch, err)) < 0)
                return r;
        if (has_room_inside(workspace->fd))
                hide_room(l);
        return 0;
}

int launch_prepare_disk(struct launch *l, struct error *err) {
        const struct plan_plan *plan = l->plan;
        struct status_disk_claim *disk = arena_new(l->arena, struct status_disk_claim);
        _cleanup_close_ int mount = open_mount(plan->sage->host->linux_quota_mount, err);
        struct writable writable;
        int r;

        if (mount < 0)
                return mount;
        find_writable(l, &writable);
        if ((r = look_at(l, mount, &writable, &disk->project, err)) < 0)
                return r;
        disk->mount = plan->sage->host->linux_quota_mount;
        l->result.container.status.disk = disk;
        return make_room(l, mount, &writable.tops[0], disk->project, err);
}
