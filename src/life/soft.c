#define _GNU_SOURCE
#include "life/soft.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "life/lost.h"
#include "life/release.h"
#include "monitor/volume.h"
#include "plan/disk.h"

bool soft_is_sampled(const struct sage_limits *limits) {
        return limits &&
                (limits->cpu == SAGE_LIMIT_STATE_SAMPLED || limits->memory == SAGE_LIMIT_STATE_SAMPLED ||
                        limits->disk == SAGE_LIMIT_STATE_SAMPLED || limits->process_count == SAGE_LIMIT_STATE_SAMPLED);
}

bool soft_counts(const struct plan_mount *m) {
        return m->kind == PLAN_MOUNT_KIND_BIND && m->only && !m->recursive && !(m->attributes_set & MOUNT_ATTR_RDONLY);
}

/* The directory that was looked at when the sandbox was made; one that has taken its place since is not the sandbox's. */
static int open_top(const struct plan_mount *m) {
        _cleanup_close_ int fd = open(m->source, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        struct stat st;

        if (fd < 0 || fstat(fd, &st) < 0 || st.st_dev != m->only->dev || st.st_ino != m->only->ino)
                return -1;
        return take_fd(&fd);
}

static int measure(struct arena *arena, const struct plan_plan *plan, uint64_t *ret) {
        int *tops = arena_array(arena, int, plan->n_mounts + 1), r;
        size_t n = 0;

        for (size_t i = 0; i < plan->n_mounts; i++) {
                int fd = soft_counts(&plan->mounts[i]) ? open_top(&plan->mounts[i]) : -1;

                if (fd >= 0)
                        tops[n++] = fd;
        }
        r = volume_measure(tops, n, NULL, NULL, ret);
        for (size_t i = 0; i < n; i++)
                close_fd(&tops[i]);
        return r;
}

static void check_disk(struct arena *arena, const struct container *container, const struct plan_plan *plan, struct ending *ending) {
        struct sage_disk *disk = arena_new(arena, struct sage_disk);
        struct error ignored;

        disk->limit_bytes = disk_limit(plan->sage);
        if (measure(arena, plan, &disk->used_bytes) < 0)
                return;
        disk->has = SAGE_DISK_HAS_USED_BYTES | SAGE_DISK_HAS_LIMIT_BYTES;
        ending->disk = disk;
        if (disk->used_bytes <= disk->limit_bytes || ending->loss)
                return;
        lost_mark_disk(container, disk->used_bytes, disk->limit_bytes);
        (void)release_kill(container, &ignored);
        ending->loss = arena_new(arena, struct loss);
        *ending->loss = (struct loss){ .limit = "disk", .used = disk->used_bytes, .allowed = disk->limit_bytes };
}

void soft_check(struct arena *arena, const struct container *container, const struct plan_plan *plan, struct ending *ending) {
        struct loss loss;

        if (lost_is(container, &loss)) {
                ending->loss = arena_new(arena, struct loss);
                *ending->loss = loss;
        }
        if (plan->sandbox->limits->disk == SAGE_LIMIT_STATE_SAMPLED)
                check_disk(arena, container, plan, ending);
}

void soft_check_of(struct arena *arena, const char *root, const char *id, struct ending *ending) {
        _cleanup_container_ struct container container = CONTAINER_CLOSED;
        struct plan_plan plan;
        struct error ignored;

        if (container_open(arena, root, id, CONTAINER_UNLOCKED, &container, &ignored) == 0 &&
                container_load_plan(arena, &container, &plan, &ignored) == 0 && plan.sandbox)
                soft_check(arena, &container, &plan, ending);
}
