#define _GNU_SOURCE
#include "life/tracers.h"

#include <dirent.h>
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>

#include "base/fd.h"
#include "base/str.h"

bool tracers_possible(const struct plan_process *process) {
        const struct plan_capabilities *sets = process->capabilities;

        /* A file's inheritable set raises what a process may inherit, whatever its bounding set is (capabilities(7)). */
        return (sets->bounding | sets->permitted | sets->inheritable) >> CAP_SYS_PTRACE & 1;
}

static bool made(const struct container *container, const struct stat *pids) {
        const struct status_status *status = &container->status;
        char path[32];
        struct stat st;

        if (!status->init || status->shared_pids || status->tracers)
                return false;
        snprintf(path, sizeof path, "/proc/%d/ns/pid", status->init->pid);
        return stat(path, &st) == 0 && st.st_ino == pids->st_ino && st.st_dev == pids->st_dev;
}

static int tell(struct arena *arena, const char *root, const char *id, const struct stat *pids, struct error *err) {
        _cleanup_container_ struct container c = CONTAINER_CLOSED;
        int r = container_open(arena, root, id, CONTAINER_LOCKED, &c, err);

        if (r < 0)
                return err->code == CODE_NOT_FOUND ? 0 : r;
        if (!made(&c, pids))
                return 0;
        c.status.has |= STATUS_STATUS_HAS_TRACERS;
        c.status.tracers = true;
        return container_save(&c, err);
}

int tracers_tell(struct arena *arena, const char *root, const char *id, const struct stat *pids, struct error *err) {
        _cleanup_dir_ DIR *dir = opendir(root);

        for (struct dirent *entry; dir && (entry = readdir(dir));) {
                _cleanup_container_ struct container c = CONTAINER_CLOSED;
                const char *name;
                int r;

                if (!state_id_valid(entry->d_name) || streq(entry->d_name, id))
                        continue;
                name = arena_strdup(arena, entry->d_name);
                if (container_open(arena, root, name, CONTAINER_UNLOCKED, &c, err) < 0 || !made(&c, pids))
                        continue;
                if ((r = tell(arena, root, name, pids, err)) < 0)
                        return r;
        }
        return 0;
}
