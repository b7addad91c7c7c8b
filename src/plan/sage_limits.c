/* Limits that config.json gives as well must be the same there: which of the two holds, nobody should have to guess. */
#include "plan/sage_draft.h"

#include <inttypes.h>
#include <stdio.h>

#define CPU_PERIOD 100000 /* µs; what the kernel has by default, and what Sage writes */

static int disagree(struct sage_draft *d, const char *field, const char *member, const char *asked, const char *found) {
        return fail(d->err, CODE_CONFIG_INVALID, EINVAL, field, "%s asks for %s, and this is %s: leave one of them out, or make them equal",
                sage_field(d, d->layer, SAGE_RESOURCES, member), asked, found);
}

static int compare(struct sage_draft *d, const char *field, const char *member, uint64_t asked, int64_t found) {
        char a[24], b[24];

        if (found <= 0 || (uint64_t)found == asked) /* config-linux.md: what is not above 0 is no limit */
                return 0;
        snprintf(a, sizeof a, "%" PRIu64, asked);
        snprintf(b, sizeof b, "%" PRId64, found);
        return disagree(d, field, member, a, b);
}

/* µs of each period that PERCENT of a CPU are, as in cpu.max. */
static uint64_t quota_of(double percent) {
        return (uint64_t)(percent * (CPU_PERIOD / 100));
}

static int compare_cpu(struct sage_draft *d, const struct oci_cpu *cpu, double percent) {
        uint64_t period = cpu->period ? cpu->period : CPU_PERIOD;
        char asked[64], found[64];

        if (cpu->quota <= 0 || (unsigned __int128)cpu->quota * CPU_PERIOD == (unsigned __int128)quota_of(percent) * period)
                return 0;
        snprintf(asked, sizeof asked, "%" PRIu64 " of %d µs", quota_of(percent), CPU_PERIOD);
        snprintf(found, sizeof found, "%" PRId64 " of %" PRIu64 " µs", cpu->quota, period);
        return disagree(d, "linux.resources.cpu.quota", "cpu_percent", asked, found);
}

/* The same limits as files of a cgroup. */
static int compare_unified(struct sage_draft *d, const struct oci_linux_resources *resources, const struct sage_resources *sage) {
        char cpu[48], memory[24], processes[16];
        const struct {
                uint64_t bit;
                const char *file, *member, *text;
        } files[] = {
                { SAGE_RESOURCES_HAS_CPU_PERCENT, "cpu.max", "cpu_percent", cpu },
                { SAGE_RESOURCES_HAS_MEMORY_MB, "memory.max", "memory_mb", memory },
                { SAGE_RESOURCES_HAS_MEMORY_MB, "memory.swap.max", "memory_mb", "0" },
                { SAGE_RESOURCES_HAS_MAX_PROCESSES, "pids.max", "max_processes", processes },
        };

        snprintf(cpu, sizeof cpu, "%" PRIu64 " %d", quota_of(sage->cpu_percent), CPU_PERIOD);
        snprintf(memory, sizeof memory, "%" PRIu64, sage->memory_mb << 20);
        snprintf(processes, sizeof processes, "%u", sage->max_processes);
        for (size_t i = 0; i < resources->n_unified; i++)
                for (size_t k = 0; k < ELEMENTSOF(files); k++) {
                        const struct string_pair *pair = &resources->unified[i];

                        if (sage->has & files[k].bit && streq(pair->key, files[k].file) && !streq(pair->value, files[k].text))
                                return disagree(d, arena_printf(d->arena, "linux.resources.unified[\"%s\"]", pair->key), files[k].member,
                                        files[k].text, pair->value);
                }
        return 0;
}

int sage_limits(struct sage_draft *d) {
        const struct oci_linux_resources *oci = d->config->linux ? d->config->linux->resources : NULL;
        const struct sage_resources *sage = d->layer->request->resources;
        int r;

        if (!oci || !sage)
                return 0;
        if (oci->cpu && sage->has & SAGE_RESOURCES_HAS_CPU_PERCENT && (r = compare_cpu(d, oci->cpu, sage->cpu_percent)) < 0)
                return r;
        /* config.json's swap is memory and swap together: none beyond the memory, which Sage's limit means */
        if (oci->memory && sage->has & SAGE_RESOURCES_HAS_MEMORY_MB &&
                ((r = compare(d, "linux.resources.memory.limit", "memory_mb", sage->memory_mb << 20, oci->memory->limit)) < 0 ||
                        (r = compare(d, "linux.resources.memory.swap", "memory_mb", sage->memory_mb << 20, oci->memory->swap)) < 0))
                return r;
        if (oci->pids && sage->has & SAGE_RESOURCES_HAS_MAX_PROCESSES &&
                (r = compare(d, "linux.resources.pids.limit", "max_processes", sage->max_processes, oci->pids->limit)) < 0)
                return r;
        return oci->unified ? compare_unified(d, oci, sage) : 0;
}
