#define _GNU_SOURCE
#include "life/salvage.h"

#include <errno.h>
#include <limits.h>

#include "apply/cgroup_processes.h"
#include "apply/rdt.h"
#include "base/log.h"
#include "facts/facts.h"

static void add_pid(pid_t pid, void *list) {
        struct str *text = list;

        if (text->size < 64)
                str_printf(text, "%s%d", text->size ? ", " : "", pid);
        else if (text->text[text->size - 1] != '.')
                str_puts(text, " ...");
}

static int refuse_living(const struct container *container, const char *path, struct error *err) {
        _cleanup_str_ struct str pids = { 0 };

        (void)cgroup_processes(path, add_pid, &pids);
        return fail(err, CODE_STATE_CORRUPT, EBUSY, path,
                    "the state of container `%s` is lost, and this cgroup of its name holds processes (%s): if they are its own, end them "
                    "(echo 1 >%s/cgroup.kill) and delete it again; if not, remove its state directory",
                    container->id, pids.text ? pids.text : "", path);
}

int container_salvage(struct arena *arena, struct container *container, struct error *err) {
        struct status_cgroup_claim *claim;
        struct plan_plan plan;
        struct error ignored;
        char path[PATH_MAX];

        container->status = (struct status_status){ 0 };
        if (container_load_plan(arena, container, &plan, &ignored) < 0)
                return cgroup_find_populated(container->id, path) ? refuse_living(container, path, err) : 0;
        container->status.rdt = rdt_claim(arena, plan.rdt, container->id);
        if (!plan.cgroup->path) {
                log_message(LOG_LEVEL_WARNING, "nobody knows the process of container `%s` any more; if it lives, its root is %s",
                            container->id, plan.rootfs->path);
                return 0;
        }
        claim = arena_new(arena, struct status_cgroup_claim);
        claim->path = arena_printf(arena, "%s%s", facts_cgroup_mount(), plan.cgroup->path);
        claim->ours = 1;
        container->status.cgroup = claim;
        return 0;
}
