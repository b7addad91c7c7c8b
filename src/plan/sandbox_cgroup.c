#include "plan/sandbox_cgroup.h"

#include <inttypes.h>

#include "base/str.h"
#include "facts/facts.h"

#define RESOURCES "sage.sandbox.resources."
#define FIELD_ROOT "sage.sandbox.host.linux_cgroup_root"
#define CPU_PERIOD 100000 /* microseconds; what the kernel has by default, and what Sage writes */

static bool are_wanted(const struct plan_plan *plan) {
        return plan->sage->resources && (!plan->sandbox || plan->sandbox->limits->cpu == SAGE_LIMIT_STATE_HARD);
}

/* A kernel without swap has no memory.swap.max; one that has swap and does not count it is admission's affair (cgroup.swap_unaccounted). */
size_t sandbox_cgroup_writes(
        struct arena *arena, const struct sage_resources *asked, struct plan_cgroup_write limits[SANDBOX_CGROUP_WRITES]) {
        size_t n = 0;

        if (asked->has & SAGE_RESOURCES_HAS_CPU_PERCENT)
                limits[n++] = (struct plan_cgroup_write){
                        .field = RESOURCES "cpu_percent",
                        .file = "cpu.max",
                        .value = arena_printf(arena, "%" PRIu64 " %d", (uint64_t)(asked->cpu_percent * (CPU_PERIOD / 100)), CPU_PERIOD),
                };
        if (asked->has & SAGE_RESOURCES_HAS_MEMORY_MB) {
                limits[n++] = (struct plan_cgroup_write){
                        .field = RESOURCES "memory_mb",
                        .file = "memory.max",
                        .value = arena_printf(arena, "%" PRIu64, asked->memory_mb << 20),
                };
                limits[n++] = (struct plan_cgroup_write){
                        .has = PLAN_CGROUP_WRITE_HAS_OPTIONAL,
                        .field = RESOURCES "memory_mb",
                        .file = "memory.swap.max",
                        .value = "0",
                        .optional = true,
                };
        }
        if (asked->has & SAGE_RESOURCES_HAS_MAX_PROCESSES)
                limits[n++] = (struct plan_cgroup_write){
                        .field = RESOURCES "max_processes",
                        .file = "pids.max",
                        .value = arena_printf(arena, "%" PRIu32, asked->max_processes),
                };
        return n;
}

static void put(struct plan_cgroup *cgroup, const struct plan_cgroup_write *limit) {
        for (size_t i = 0; i < cgroup->n_writes; i++)
                if (streq(cgroup->writes[i].file, limit->file)) {
                        cgroup->writes[i] = *limit;
                        return;
                }
        cgroup->writes[cgroup->n_writes++] = *limit;
}

/* The controller of FILE is what its name begins with. */
static void need_controller(struct arena *arena, struct plan_cgroup *cgroup, const char *file) {
        size_t length = strcspn(file, ".");

        for (size_t i = 0; i < cgroup->n_controllers; i++)
                if (strncmp(cgroup->controllers[i], file, length) == 0 && cgroup->controllers[i][length] == '\0')
                        return;
        cgroup->controllers[cgroup->n_controllers++] = arena_strndup(arena, file, length);
}

void sandbox_cgroup_limits(struct compilation *c, struct plan_cgroup *cgroup) {
        struct plan_cgroup_write limits[SANDBOX_CGROUP_WRITES], *writes;
        const char **controllers;
        size_t n;

        if (!are_wanted(c->plan))
                return;
        n = sandbox_cgroup_writes(c->arena, c->plan->sage->resources, limits);
        writes = arena_array(c->arena, struct plan_cgroup_write, cgroup->n_writes + n + 1);
        controllers = arena_array(c->arena, const char *, cgroup->n_controllers + n + 1);
        for (size_t i = 0; i < cgroup->n_writes; i++)
                writes[i] = cgroup->writes[i];
        for (size_t i = 0; i < cgroup->n_controllers; i++)
                controllers[i] = cgroup->controllers[i];
        cgroup->writes = writes;
        cgroup->controllers = controllers;
        for (size_t i = 0; i < n; i++) {
                put(cgroup, &limits[i]);
                need_controller(c->arena, cgroup, limits[i].file);
        }
}

int sandbox_cgroup_place(struct compilation *c, const char **path) {
        const struct sage_host *host = c->plan->sage->host;
        const char *root = host ? host->linux_cgroup_root : NULL, *asked = c->request->config->linux->cgroups_path, *below, *place;

        if (!root)
                return 0;
        below = str_after(root, facts_cgroup_mount());
        if (!below || *below != '/')
                return INVALID(c->err, FIELD_ROOT, "expected a cgroup below %s, found %s", facts_cgroup_mount(), root);
        place = arena_printf(c->arena, "%s/%s", below, c->plan->id);
        if (asked && *asked && !streq(*path, place))
                return INVALID(c->err, "linux.cgroupsPath", "the sandbox's cgroup is %s, and this is %s: leave it out", place, *path);
        *path = place;
        return 0;
}
