#define _GNU_SOURCE
#include "plan/disk.h"

#include <errno.h>
#include <linux/capability.h>
#include <sched.h>

#include "base/str.h"
#include "plan/capabilities.h"

#define MIB (UINT64_C(1) << 20)

uint64_t disk_limit(const struct sage_request *request) {
        const struct sage_resources *resources = request->resources;
        const struct sage_filesystem *filesystem = request->filesystem;
        uint64_t bytes = resources && resources->has & SAGE_RESOURCES_HAS_DISK_MB ? resources->disk_mb * MIB : 0;

        if (filesystem && filesystem->has & SAGE_FILESYSTEM_HAS_MAX_TOTAL_BYTES && (bytes == 0 || filesystem->max_total_bytes < bytes))
                bytes = filesystem->max_total_bytes;
        return bytes;
}

int disk_check_process(struct arena *arena, const struct plan_plan *plan, const char *field, const struct facts_facts *facts,
        const struct plan_process *process, struct error *err) {
        static const unsigned refused[] = { CAP_SYS_ADMIN, CAP_SYS_RESOURCE };
        const struct sage_resources *resources = plan->sage->resources;
        const struct plan_capabilities *held = process->capabilities;
        const uint64_t any = held->bounding | held->effective | held->inheritable | held->permitted | held->ambient;

        if (!resources || !(resources->has & SAGE_RESOURCES_HAS_DISK_MB) || plan->namespaces->create & CLONE_NEWUSER ||
                !facts->identity->initial_userns)
                return 0;
        for (size_t i = 0; i < ELEMENTSOF(refused); i++)
                if (any & UINT64_C(1) << refused[i])
                        return fail(err, CODE_CONFIG_INVALID, EINVAL, arena_printf(arena, "%s.capabilities", field),
                                "%s on the host could change the quota that enforces disk_mb: take it away, or give the container a user namespace",
                                capability_name(refused[i]));
        return 0;
}
