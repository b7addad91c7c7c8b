#include "apply/cgroup_usage.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "apply/cgroup_file.h"
#include "base/str.h"

/* Where each number stands; those of one file one after the other. key: NULL where it is the whole file. */
static const struct {
        const char *file, *key;
} sources[USE_COUNT] = {
        [USE_CPU_US] = { "cpu.stat", "usage_usec" },
        [USE_USER_US] = { "cpu.stat", "user_usec" },
        [USE_SYSTEM_US] = { "cpu.stat", "system_usec" },
        [USE_THROTTLED_PERIODS] = { "cpu.stat", "nr_throttled" },
        [USE_THROTTLED_US] = { "cpu.stat", "throttled_usec" },
        [USE_MEMORY_PEAK] = { "memory.peak", NULL },
        [USE_PIDS_PEAK] = { "pids.peak", NULL },
        [USE_OOM_KILLS] = { "memory.events", "oom_kill" },
        [USE_PIDS_REFUSED] = { "pids.events", "max" },
};

/* The number behind KEY in a file of "KEY NUMBER" lines, or that TEXT begins with. */
static bool find_number(const char *text, const char *key, uint64_t *ret) {
        for (const char *line = text; key && *line;) {
                const char *rest = str_after(line, key);

                if (rest && *rest == ' ') {
                        *ret = strtoull(rest + 1, NULL, 10);
                        return true;
                }
                line += strcspn(line, "\n");
                line += *line == '\n';
        }
        if (key || *text < '0' || *text > '9')
                return false;
        *ret = strtoull(text, NULL, 10);
        return true;
}

void cgroup_usage_read(int dir, struct cgroup_usage *ret) {
        char text[CGROUP_FILE_SIZE] = "";
        const char *file = "";

        *ret = (struct cgroup_usage){ 0 };
        for (int use = 0; use < USE_COUNT; use++) {
                if (!streq(file, sources[use].file)) {
                        file = sources[use].file;
                        if (cgroup_file_read(dir, file, text) < 0)
                                *text = '\0';
                }
                if (find_number(text, sources[use].key, &ret->of[use]))
                        ret->has |= 1u << use;
        }
}
