/* Whether a new user namespace could mount a proc of its own. The kernel refuses one that would show more than the procs already in
 * sight (mount_too_revealing and mnt_already_visible, fs/namespace.c), and container engines cover parts of theirs. */
#define _GNU_SOURCE
#include "facts/probe.h"

#include <fcntl.h>
#include <string.h>

#include "base/file.h"

#define MOUNTINFO_MAX (16u << 20)
#define PROCS 64

/* Directories of proc that hold nothing by themselves, so that a mount on them hides nothing (is_empty_dir_inode, fs/libfs.c;
 * made by sysctl_mount_point and proc_create_mount_point). */
static bool hides_nothing(const char *below) {
        static const char *const empty[] = { "/sys/fs/binfmt_misc", "/fs/nfsd", "/openprom" };

        for (size_t i = 0; i < ELEMENTSOF(empty); i++)
                if (streq(below, empty[i]))
                        return true;
        return false;
}

struct scan {
        struct arena *arena;
        struct {
                unsigned id;
                const char *point;
                bool covered;
        } procs[PROCS];
        size_t n_procs;
        const char *covers[PROCS];
        size_t n_covers;
};

static bool collect_proc(const struct probe_mount *mount, void *data) {
        struct scan *scan = data;

        if (streq(mount->type, "proc") && streq(mount->root, "/") && scan->n_procs < PROCS) {
                scan->procs[scan->n_procs].id = mount->id;
                scan->procs[scan->n_procs++].point = arena_strdup(scan->arena, mount->point);
        }
        return true;
}

static void add_cover(struct scan *scan, const char *point) {
        for (size_t i = 0; i < scan->n_covers; i++)
                if (streq(scan->covers[i], point))
                        return;
        if (scan->n_covers < PROCS)
                scan->covers[scan->n_covers++] = arena_strdup(scan->arena, point);
}

static bool collect_cover(const struct probe_mount *mount, void *data) {
        struct scan *scan = data;

        for (size_t i = 0; i < scan->n_procs; i++) {
                const char *below = mount->parent == scan->procs[i].id ? str_after(mount->point, scan->procs[i].point) : NULL;

                if (!below || mount->id == mount->parent || hides_nothing(below))
                        continue;
                scan->procs[i].covered = true;
                add_cover(scan, mount->point);
        }
        return true;
}

void probe_proc_text(struct arena *arena, char *text, struct facts_proc *ret) {
        struct scan scan = { .arena = arena };
        char *again = arena_strdup(arena, text);
        bool visible = false;

        probe_mountinfo(text, collect_proc, &scan);
        probe_mountinfo(again, collect_cover, &scan);
        for (size_t i = 0; i < scan.n_procs; i++)
                visible |= !scan.procs[i].covered;
        *ret = (struct facts_proc){ .visible = visible, .n_covers = scan.n_covers };
        ret->covers = arena_array(arena, const char *, scan.n_covers + 1);
        for (size_t i = 0; i < scan.n_covers; i++)
                ret->covers[i] = scan.covers[i];
}

int probe_proc(struct arena *arena, struct facts_proc **ret, struct error *err) {
        struct facts_proc *proc = arena_new(arena, struct facts_proc);
        _cleanup_str_ struct str text = { 0 };
        int r = file_read(AT_FDCWD, "/proc/self/mountinfo", MOUNTINFO_MAX, &text);

        if (r < 0)
                return fail_errno(err, CODE_CAPABILITY_UNSUPPORTED, -r, "/proc/self/mountinfo", "cannot read our mounts");
        probe_proc_text(arena, text.text, proc);
        *ret = proc;
        return 0;
}
