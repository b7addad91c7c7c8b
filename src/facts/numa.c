/* Memory nodes, and whether a process may say which of them it wants. */
#define _GNU_SOURCE
#include "facts/probe.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HAS_MEMORY "/sys/devices/system/node/has_memory"

int probe_numa(struct arena *arena, struct facts_numa **ret, struct error *err) {
        struct facts_numa *numa = arena_new(arena, struct facts_numa);
        char nodes[512];

        (void)err;
        /* The question has an answer wherever the wish has: get_mempolicy(2) is missing where set_mempolicy(2) is, and container engines
         * filter both or neither. */
        if (syscall(SYS_get_mempolicy, NULL, NULL, 0, NULL, 0) < 0) {
                numa->errnum = errno;
                numa->has |= FACTS_NUMA_HAS_ERRNUM;
        }
        if (probe_read(HAS_MEMORY, nodes, sizeof nodes) > 0)
                numa->nodes = arena_strdup(arena, nodes);
        *ret = numa;
        return 0;
}
