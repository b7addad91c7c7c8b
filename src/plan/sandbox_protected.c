/* protected_paths: each bound on itself read-only, and each directory on the way to it bound on itself, so that nobody puts another in its
 * place by renaming one of them (rename(2) and rmdir(2) of a mount point: EBUSY). What is missing is made before (life/placeholders.c). */
#include "plan/sandbox_parts.h"

#include <sys/mount.h>

static size_t depth(const char *path) {
        size_t n = 1;

        for (; *path; path++)
                n += *path == '/';
        return n;
}

size_t sandbox_count_pins(const struct sage_filesystem *f) {
        size_t n = 0;

        for (size_t i = 0; i < f->n_protected_paths; i++)
                n += depth(f->protected_paths[i]);
        return n;
}

static bool is_pinned(const struct plan_mount *pins, size_t n, const char *path) {
        for (size_t i = 0; i < n; i++)
                if (streq(pins[i].destination, path))
                        return true;
        return false;
}

/* Another one holds it, and is as unwritable as this would be. */
static bool is_covered(const struct sage_filesystem *f, size_t index) {
        for (size_t i = 0; i < f->n_protected_paths; i++)
                if (i != index && path_is_below(f->protected_paths[index], f->protected_paths[i]))
                        return true;
        return false;
}

/* protected_paths are sorted, so that what holds another comes before it. */
size_t sandbox_pins(struct compilation *c, struct plan_mount *pins) {
        const struct sage_filesystem *f = c->plan->sage->filesystem;
        size_t n = 0;

        for (size_t i = 0; i < f->n_protected_paths; i++) {
                const char *path = f->protected_paths[i];

                for (size_t end = strcspn(path, "/");; end += 1 + strcspn(path + end + 1, "/")) {
                        const char *at = FIELD(c->arena, "%s/%.*s", f->workspace_root, (int)end, path);

                        if (is_covered(f, i))
                                break;
                        if (!is_pinned(pins, n, at))
                                pins[n++] = (struct plan_mount){
                                        .field = FIELD(c->arena, "sage.sandbox.filesystem.protected_paths[%zu]", i),
                                        .destination = at,
                                        .kind = PLAN_MOUNT_KIND_PIN,
                                        .attributes_set = path[end] ? 0 : MOUNT_ATTR_RDONLY,
                                };
                        if (!path[end])
                                break;
                }
        }
        return n;
}
