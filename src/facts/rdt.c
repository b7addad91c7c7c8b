/* The resctrl file system, through which processors share out cache and memory bandwidth (Documentation/filesystems/resctrl.rst). */
#define _GNU_SOURCE
#include "facts/probe.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/file.h"

#define MOUNTINFO_MAX (16u << 20)

struct search {
        struct arena *arena;
        const char *root;
};

static bool find_root(const struct probe_mount *mount, void *data) {
        struct search *search = data;

        if (streq(mount->type, "resctrl"))
                search->root = arena_strdup(search->arena, mount->point);
        return !search->root;
}

static bool has(struct arena *arena, const char *root, const char *below) {
        return access(arena_printf(arena, "%s/%s", root, below), F_OK) == 0;
}

void probe_rdt_at(struct arena *arena, const char *root, struct facts_rdt *ret) {
        *ret = (struct facts_rdt){ .root = root };
        if (!root)
                return;
        /* With code and data prioritisation L3 is two resources. */
        ret->cache = has(arena, root, "info/L3") || has(arena, root, "info/L3CODE");
        ret->bandwidth = has(arena, root, "info/MB");
        ret->monitoring = has(arena, root, "mon_groups");
        ret->writable = access(arena_printf(arena, "%s/tasks", root), W_OK) == 0;
}

int probe_rdt(struct arena *arena, struct facts_rdt **ret, struct error *err) {
        struct facts_rdt *rdt = arena_new(arena, struct facts_rdt);
        struct search search = { .arena = arena };
        _cleanup_str_ struct str text = { 0 };
        int r = file_read(AT_FDCWD, "/proc/self/mountinfo", MOUNTINFO_MAX, &text);

        if (r < 0)
                return fail_errno(err, CODE_CAPABILITY_UNSUPPORTED, -r, "/proc/self/mountinfo", "cannot read our mounts");
        probe_mountinfo(text.text, find_root, &search);
        probe_rdt_at(arena, search.root, rdt);
        *ret = rdt;
        return 0;
}
