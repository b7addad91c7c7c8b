/* What every command of a strict sandbox is, the bundle's process as well as an exec. */
#include "plan/sandbox.h"

#include <inttypes.h>
#include <sys/resource.h>

#include "plan/rlimits.h"

#define MOST_FILES 1024

/* The smallest of what says something about one file: nothing of the three is absent in a strict sandbox but the first. */
static uint64_t largest_file(const struct sage_request *sage) {
        const uint64_t disk = sage->resources->disk_mb << 20;
        const struct sage_filesystem *f = sage->filesystem;

        return f->has & SAGE_FILESYSTEM_HAS_MAX_FILE_BYTES && f->max_file_bytes < disk ? f->max_file_bytes : disk;
}

static int limit(struct arena *arena, const char *field, struct plan_process *p, uint32_t resource, uint64_t most, struct error *err) {
        for (size_t i = 0; i < p->n_rlimits; i++) {
                struct plan_rlimit *given = &p->rlimits[i];

                if (given->resource != resource)
                        continue;
                if (given->hard > most)
                        return INVALID(err, given->field, "a strict sandbox has at most %" PRIu64 " of %s, and this is %" PRIu64, most,
                                rlimit_name(resource), given->hard);
                return 0;
        }
        p->rlimits[p->n_rlimits++] = (struct plan_rlimit){
                .field = FIELD(arena, "%s.rlimits", field), .resource = resource, .soft = most, .hard = most
        };
        return 0;
}

/* Where a limit on processes is sampled, a fork bomb has thousands before the next sample, and they take long to die. This holds it without a
 * cgroup: since Linux 5.14 the kernel counts for each user namespace by itself, and a sandbox has one of its own (kernel/ucount.c). Twice what may
 * be and some, because what goes beyond the limit is to be found by the monitor, which ends the sandbox and says why. */
static uint64_t most_processes(const struct sage_request *sage) {
        return 2 * (uint64_t)sage->resources->max_processes + 64;
}

int sandbox_process(struct arena *arena, const struct plan_plan *plan, const char *field, struct plan_process *p, struct error *err) {
        const struct plan_capabilities *capabilities = p->capabilities;
        struct plan_rlimit *rlimits = arena_array(arena, struct plan_rlimit, p->n_rlimits + 4);
        int r;

        if (capabilities->bounding | capabilities->effective | capabilities->inheritable | capabilities->permitted | capabilities->ambient)
                return INVALID(err, FIELD(arena, "%s.capabilities", field), "commands of a strict sandbox have no capability");
        if (p->n_groups || p->keep_groups)
                return INVALID(err, FIELD(arena, "%s.user.additionalGids", field), "commands of a strict sandbox are in no other group");
        p->no_new_privileges = true;
        if (p->n_rlimits)
                memcpy(rlimits, p->rlimits, p->n_rlimits * sizeof *rlimits);
        p->rlimits = rlimits;
        if ((r = limit(arena, field, p, RLIMIT_CORE, 0, err)) < 0 || (r = limit(arena, field, p, RLIMIT_NOFILE, MOST_FILES, err)) < 0)
                return r;
        if (plan->sandbox->limits->process_count == SAGE_LIMIT_STATE_SAMPLED &&
                (r = limit(arena, field, p, RLIMIT_NPROC, most_processes(plan->sage), err)) < 0)
                return r;
        return limit(arena, field, p, RLIMIT_FSIZE, largest_file(plan->sage), err);
}
