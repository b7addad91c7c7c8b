#include "plan/live_mounts.h"

#include <sys/mount.h>

#include "plan/compilation.h"
#include "plan/mounts.h"

static int check_possible(struct arena *arena, const struct plan_mount *m, struct error *err) {
        if (m->copy_symlink)
                return UNSUPPORTED(err, FIELD(arena, "%s.options", m->field), "copy-symlink is not for a container that is there already");
        if (m->kind == PLAN_MOUNT_KIND_CGROUP || m->kind == PLAN_MOUNT_KIND_SYSFS_OR_BIND || (m->type && streq(m->type, "proc")))
                return UNSUPPORTED(
                        err, FIELD(arena, "%s.type", m->field), "%s cannot be mounted in a container that is there already", m->type);
        if (m->kind == PLAN_MOUNT_KIND_FILESYSTEM && m->flags & MS_I_VERSION) /* mount(2) only */
                return UNSUPPORTED(err, FIELD(arena, "%s.options", m->field), "iversion is not for a container that is there already");
        return 0;
}

int live_mounts_compile(struct arena *arena, const struct oci_mount *asked, size_t n, const struct plan_plan *plan,
        const struct facts_facts *facts, struct plan_mount **ret, const char ***ret_warnings, struct error *err) {
        const struct oci_config config = { .mounts = (struct oci_mount *)(uintptr_t)asked, .n_mounts = n };
        const struct request request = { .id = plan->id, .bundle = plan->bundle, .config = &config, .manager = plan->cgroup->manager };
        struct plan_plan copy = *plan;
        struct compilation c = { .arena = arena, .request = &request, .facts = facts, .err = err, .plan = &copy };
        int r;

        copy.mounts = NULL;
        copy.n_mounts = 0;
        r = mounts_compile(&c);
        for (size_t i = 0; r == 0 && i < copy.n_mounts; i++)
                r = check_possible(arena, &copy.mounts[i], err);
        if (r < 0)
                return r;
        *ret = copy.mounts;
        *ret_warnings = c.warnings.list;
        return 0;
}

struct plan_mount *live_mounts_destinations(struct arena *arena, const struct oci_mount *asked, size_t n) {
        struct plan_mount *mounts = arena_array(arena, struct plan_mount, n + 1);

        for (size_t i = 0; i < n; i++) {
                mounts[i].field = FIELD(arena, "mounts[%zu]", i);
                mounts[i].destination = FIELD(arena, "%s%s", asked[i].destination[0] == '/' ? "" : "/", asked[i].destination);
        }
        return mounts;
}
