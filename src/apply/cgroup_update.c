#define _GNU_SOURCE
#include "apply/cgroup_update.h"

#include <errno.h>
#include <string.h>

#include "apply/cgroup.h"
#include "base/file.h"
#include "base/str.h"

enum { LIMIT_FILE_MAX = 1 << 20 };

/* ---- taking back -------------------------------------------------------------------------------------------------------- */

/* What files with a line a device say of one that has no line (cgroup-v2.rst, "IO Interface Files"). */
static const struct { const char *file, *nothing; } device_files[] = {
        { "io.max", "rbps=max wbps=max riops=max wiops=max" },
        { "io.weight", "default" },
        { "io.bfq.weight", "default" },
        { "io.latency", "target=0" },
};

/* The line of TEXT whose first word is the first word of WRITTEN, or NULL. */
static const char *line_of(const char *text, const char *written) {
        size_t n = strcspn(written, " ");

        for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n')
                if (strcspn(line, " \n") == n && strncmp(line, written, n) == 0)
                        return line;
        return NULL;
}

const char *cgroup_old_value(struct arena *arena, const char *file, const char *written, const char *old) {
        size_t n = strcspn(written, " ");
        const char *line = line_of(old, written);

        if (!line && memchr(written, ':', n)) {
                for (size_t i = 0; i < ELEMENTSOF(device_files); i++)
                        if (streq(file, device_files[i].file))
                                return arena_printf(arena, "%.*s %s", (int)n, written, device_files[i].nothing);
                return NULL;
        }
        if (!line)
                line = old;
        /* A write of no byte at all does not reach the kernel's handler. */
        return *line == '\0' || *line == '\n' ? "\n" : arena_strndup(arena, line, strcspn(line, "\n"));
}

bool cgroup_revert(int fd, const struct cgroup_changes *changes) {
        bool all = cgroup_devices_revert(fd, &changes->devices);

        for (size_t i = changes->n; i > 0; i--) {
                const struct cgroup_change *change = &changes->list[i - 1];

                all &= change->value && file_write(fd, change->file, change->value, strlen(change->value)) == 0;
        }
        return all;
}

void cgroup_changes_close(struct cgroup_changes *changes) {
        cgroup_devices_exchange_close(&changes->devices);
}

/* ---- changing ----------------------------------------------------------------------------------------------------------- */

/* Notes what is in the file that LIMIT will be written to. One that cannot be read holds nothing to go back to (memory.reclaim). */
static void note(struct arena *arena, int fd, const struct plan_cgroup_write *limit, struct cgroup_changes *changes) {
        const char *file = limit->file, *value = limit->value;
        _cleanup_str_ struct str old = { 0 };
        int r = file_read(fd, file, LIMIT_FILE_MAX, &old);

        if (r == -ENOENT && limit->else_file) {
                file = limit->else_file;
                value = limit->else_value;
                r = file_read(fd, file, LIMIT_FILE_MAX, &old);
        }
        if (r == 0)
                changes->list[changes->n++] = (struct cgroup_change){
                        .file = file, .value = cgroup_old_value(arena, file, value, old.text ? old.text : ""),
                };
}

/* Some files refuse a value because of what another one says at that moment: cpu.max must not be below cpu.max.burst, nor that above it.
 * So what is refused for its value is tried once more after the others. */
static int change_all(struct arena *arena, int fd, const struct plan_cgroup *cgroup, struct cgroup_changes *changes, struct error *err) {
        bool *again = arena_array(arena, bool, cgroup->n_writes + 1);
        size_t n_again = 0;
        int r;

        for (int pass = 0; pass < 2 && (pass == 0 || n_again > 0); pass++)
                for (size_t i = 0; i < cgroup->n_writes; i++) {
                        size_t before = changes->n;

                        if (pass == 1 && !again[i])
                                continue;
                        note(arena, fd, &cgroup->writes[i], changes);
                        r = cgroup_limit_one(fd, &cgroup->writes[i], err);
                        if (r == -EINVAL && pass == 0) {
                                changes->n = before;
                                again[i] = true;
                                n_again++;
                        } else if (r < 0) {
                                return r;
                        }
                }
        return 0;
}

static int exchange_devices(int fd, const struct plan_cgroup *cgroup, struct cgroup_devices_exchange *ret, struct error *err) {
        static const struct plan_device_rule everything = { .allow = true, .access = BPF_DEVCG_ACC_MKNOD | BPF_DEVCG_ACC_READ | BPF_DEVCG_ACC_WRITE };

        if (!cgroup->limit_devices)
                return cgroup_devices_replace(fd, &everything, 1, ret, err);
        return cgroup_devices_replace(fd, cgroup->devices, cgroup->n_devices, ret, err);
}

int cgroup_update(struct arena *arena, const char *path, int fd, const struct plan_cgroup *cgroup, struct cgroup_changes *ret,
                  struct error *err) {
        struct cgroup_changes changes = CGROUP_UNCHANGED;
        int r;

        changes.list = arena_array(arena, struct cgroup_change, 2 * cgroup->n_writes + 1);
        if ((r = cgroup_check_memory(fd, cgroup, err)) < 0 || (r = cgroup_enable(path, fd, cgroup, err)) < 0)
                return r;
        r = change_all(arena, fd, cgroup, &changes, err);
        if (r == 0 && cgroup->has & PLAN_CGROUP_HAS_LIMIT_DEVICES)
                r = exchange_devices(fd, cgroup, &changes.devices, err);
        if (r < 0) {
                if (!cgroup_revert(fd, &changes))
                        err->effect = EFFECT_APPLIED;
                return r;
        }
        *ret = changes;
        return 0;
}
