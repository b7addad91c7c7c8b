/* The file system of a strict sandbox, from an empty root on. */
#define _GNU_SOURCE
#include "plan/disk.h"
#include "plan/sandbox_parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <sys/mount.h>

#define READ_ONLY (MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)

struct furnishing {
        struct compilation *c;
        struct plan_mount *mounts;
        size_t n;
};

static struct plan_mount *add(struct furnishing *f, enum plan_mount_kind kind, const char *destination, const char *field) {
        struct plan_mount *m = &f->mounts[f->n++];

        *m = (struct plan_mount){ .kind = kind, .destination = destination, .field = field };
        return m;
}

/* ---- what all sandboxes have alike --------------------------------------------------------------------------------------- */

static void add_place(struct furnishing *f, const char *path) {
        const struct facts_place *place = facts_place(f->c->facts, path);
        struct plan_mount *m;

        if (!place)
                return;
        if (place->kind == FACTS_PLACE_KIND_SYMLINK && place->target) {
                add(f, PLAN_MOUNT_KIND_SYMLINK, path, path)->source = place->target;
        } else if (place->kind == FACTS_PLACE_KIND_DIRECTORY || place->kind == FACTS_PLACE_KIND_FILE) {
                m = add(f, PLAN_MOUNT_KIND_BIND, path, path);
                m->source = path;
                m->recursive = true;
                m->has |= PLAN_MOUNT_HAS_RECURSIVE;
                m->recursive_set = READ_ONLY;
        }
}

/* passwd(5) and group(5): who asks for the user's name or home gets an answer, and who asks for the host's users none. */
static void add_identity(struct furnishing *f) {
        const struct plan_sandbox *sandbox = f->c->plan->sandbox;

        add(f, PLAN_MOUNT_KIND_FILE, "/etc/passwd", "/etc/passwd")->data = FIELD(f->c->arena,
                "sage:x:%u:%u:sage:/tmp:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n", sandbox->uid, sandbox->gid);
        add(f, PLAN_MOUNT_KIND_FILE, "/etc/group", "/etc/group")->data = FIELD(f->c->arena, "sage:x:%u:\nnogroup:x:65534:\n", sandbox->gid);
}

static void add_filesystem(struct furnishing *f, const char *destination, const char *type, uint64_t flags, const char *data) {
        struct plan_mount *m = add(f, PLAN_MOUNT_KIND_FILESYSTEM, destination, destination);

        m->type = type;
        m->source = type;
        m->flags = flags;
        m->data = data;
}

/* /dev is written while it is filled, and read-only then; its nodes open for writing all the same (apply/dev.c). No gid for devpts: the
 * terminals' group does not exist in there, and the kernel says EINVAL. */
static void add_kernel(struct furnishing *f) {
        const struct facts_cgroup *cgroup = f->c->facts->cgroup;

        add_filesystem(f, "/proc", "proc", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
        add_filesystem(f, "/dev", "tmpfs", MS_RDONLY | MS_NOSUID | MS_NOEXEC, "mode=755,size=64k");
        add_filesystem(f, "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620");
        if (cgroup && cgroup->version == FACTS_CGROUP_VERSION_V2)
                add(f, PLAN_MOUNT_KIND_CGROUP, "/sys/fs/cgroup", "/sys/fs/cgroup")->flags = MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC;
}

static void add_room(struct furnishing *f, const char *path, enum plan_scratch part) {
        struct plan_mount *m = add(f, PLAN_MOUNT_KIND_BIND, path, path);

        m->scratch = part;
        m->has |= PLAN_MOUNT_HAS_SCRATCH;
        m->attributes_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
}

/* In the project of the workspace (launch_disk.c), or, where none counts it, as large as the disk may be, with as many files as the project
 * would have. Programs are executed from /tmp (pip, cffi, JITs). */
static void add_scratch(struct furnishing *f) {
        const uint64_t bytes = disk_limit(f->c->plan->sage);
        const char *data = FIELD(f->c->arena, "mode=1777,size=%" PRIu64 ",nr_inodes=%" PRIu64, bytes, bytes / PROJECT_BYTES_PER_INODE);

        if (f->c->plan->sandbox->limits->disk == SAGE_LIMIT_STATE_HARD) {
                add_room(f, "/dev/shm", PLAN_SCRATCH_SHM);
                add_room(f, "/tmp", PLAN_SCRATCH_TMP);
                return;
        }

        add_filesystem(f, "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, data);
        add_filesystem(f, "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, data);
}

/* ---- what is asked for ----------------------------------------------------------------------------------------------------- */

static struct plan_mount *add_directory(struct furnishing *f, const struct facts_place *place, const char *destination, const char *field) {
        struct plan_mount *m = add(f, PLAN_MOUNT_KIND_BIND, destination, field);

        m->source = place->path;
        m->only = arena_new(f->c->arena, struct plan_only);
        *m->only = (struct plan_only){ .dev = place->dev, .ino = place->ino };
        return m;
}

/* Not recursively: what is mounted in there is not what was looked at. */
static void make_writable(struct plan_mount *m, bool read_only) {
        m->attributes_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | (read_only ? MOUNT_ATTR_RDONLY : 0);
}

static int add_paths(struct furnishing *f, const char *member, const char *const *paths, size_t n, bool writable) {
        struct compilation *c = f->c;

        for (size_t i = 0; i < n; i++) {
                const char *field = FIELD(c->arena, "sage.sandbox.filesystem.%s[%zu]", member, i);
                const struct facts_place *place = facts_place(c->facts, paths[i]);

                if (!writable && sandbox_place_in(paths[i])) /* there already */
                        continue;
                if (!place || place->kind == FACTS_PLACE_KIND_ABSENT) {
                        warn(c->arena, &c->warnings, "%s: %s does not exist, and is left out", field, paths[i]);
                        continue;
                }
                if (place->kind == FACTS_PLACE_KIND_SYMLINK)
                        return INVALID(c->err, field, "%s is a symlink or lies behind one: name the directory itself", paths[i]);
                if (place->kind != FACTS_PLACE_KIND_DIRECTORY)
                        return INVALID(c->err, field, "expected a directory, and %s is none that can be looked at", paths[i]);
                if (writable && path_is_below(c->facts->tree->program, paths[i]))
                        return INVALID(c->err, field, "%s holds this runtime, which commands could change", paths[i]);
                if (writable)
                        make_writable(add_directory(f, place, paths[i], field), false);
                else {
                        struct plan_mount *m = add_directory(f, place, paths[i], field);

                        m->recursive = true;
                        m->has |= PLAN_MOUNT_HAS_RECURSIVE;
                        m->recursive_set = READ_ONLY;
                }
        }
        return 0;
}

static int by_destination(const void *a, const void *b) {
        return strcmp(((const struct plan_mount *)a)->destination, ((const struct plan_mount *)b)->destination);
}

/* In the order of their destinations, so that what lies in another comes behind it. */
static int add_asked(struct furnishing *f) {
        const struct sage_request *sage = f->c->plan->sage;
        const struct sage_filesystem *asked = sage->filesystem;
        const bool read_only = asked->read_only || sage->process->read_only;
        const struct facts_place *workspace;
        const size_t first = f->n;
        int r;

        if ((r = sandbox_check_workspace(f->c, &workspace)) < 0 ||
                (r = add_paths(f, "read_paths", asked->read_paths, asked->n_read_paths, false)) < 0 ||
                (r = add_paths(f, "write_paths", asked->write_paths, asked->n_write_paths, true)) < 0)
                return r;
        f->c->plan->sandbox->workspace = arena_new(f->c->arena, struct plan_workspace);
        *f->c->plan->sandbox->workspace = (struct plan_workspace){
                .path = workspace->path, .dev = workspace->dev, .ino = workspace->ino, .read_only = read_only
        };
        make_writable(add_directory(f, workspace, asked->workspace_root, "sage.sandbox.filesystem.workspace"), read_only);
        qsort(f->mounts + first, f->n - first, sizeof *f->mounts, by_destination);
        if (!read_only)
                f->n += sandbox_pins(f->c, f->mounts + f->n);
        return 0;
}

int sandbox_mounts(struct compilation *c) {
        const struct sage_filesystem *asked = c->plan->sage->filesystem;
        struct furnishing f = { .c = c };
        int r;

        f.mounts = arena_array(c->arena, struct plan_mount,
                sandbox_n_places + asked->n_read_paths + asked->n_write_paths + sandbox_count_pins(asked) + 16);
        for (size_t i = 0; i < sandbox_n_places; i++)
                add_place(&f, sandbox_places[i]);
        add_identity(&f);
        add_kernel(&f);
        add_scratch(&f);
        if ((r = add_asked(&f)) < 0)
                return r;
        c->plan->mounts = f.mounts;
        c->plan->n_mounts = f.n;
        c->plan->rootfs->empty = true;
        c->plan->rootfs->has |= PLAN_ROOTFS_HAS_EMPTY;
        return 0;
}
