/* What can be done below the cgroup that is ours to use: for `check`, which says it before anybody tries. */
#define _GNU_SOURCE
#include "facts/probe.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"

static bool exists_in(const char *cgroup, const char *child, const char *file) {
        char path[PATH_MAX + 384];

        snprintf(path, sizeof path, "%s%s/%s/%s", facts_cgroup_mount(), cgroup, child, file);
        return access(path, F_OK) == 0;
}

static const char **words_in(struct arena *arena, const char *cgroup, const char *file, size_t *ret_n) {
        char path[PATH_MAX + 64], text[1024];

        snprintf(path, sizeof path, "%s%s/%s", facts_cgroup_mount(), cgroup, file);
        if (probe_read(path, text, sizeof text) < 0)
                text[0] = '\0';
        return probe_words(arena, text, " ", ret_n);
}

/* The hierarchy's root has no cgroup.type, and may hold processes beside controllers; any other cgroup may not ("no internal process
 * constraint", cgroup-v2.rst). The first byte of cgroup.procs is enough. */
static bool occupied(const char *cgroup) {
        char path[PATH_MAX + 64], text[64];
        int r;

        if (!exists_in(cgroup, ".", "cgroup.type"))
                return false;
        snprintf(path, sizeof path, "%s%s/cgroup.procs", facts_cgroup_mount(), cgroup);
        r = probe_read(path, text, sizeof text);
        return r > 0 || r == -EFBIG;
}

/* Finds a cgroup other than the hierarchy's root, to see which files such a one has: ROOT itself, else one directly below it. With
 * MEMORY, one in which the memory controller is on. NAME gets "." or the child's name. */
static bool find_sample(const char *root, bool memory, char name[NAME_MAX + 1]) {
        char path[PATH_MAX + 64];
        _cleanup_dir_ DIR *dir = NULL;
        struct dirent *entry;

        snprintf(name, NAME_MAX + 1, ".");
        if (exists_in(root, ".", memory ? "memory.max" : "cgroup.type"))
                return true;
        snprintf(path, sizeof path, "%s%s", facts_cgroup_mount(), root);
        dir = opendir(path);
        while (dir && (entry = readdir(dir))) {
                if (entry->d_name[0] == '.' || entry->d_type != DT_DIR)
                        continue;
                snprintf(name, NAME_MAX + 1, "%s", entry->d_name);
                if (exists_in(root, name, memory ? "memory.max" : "cgroup.type"))
                        return true;
        }
        return false;
}

/* cgroup.kill came with 5.14; a kernel that says less may have it backported, so a cgroup is looked at first. */
static bool has_kill(const char *root, const struct facts_kernel *kernel) {
        char name[NAME_MAX + 1];

        if (find_sample(root, false, name))
                return exists_in(root, name, "cgroup.kill");
        return kernel->major > 5 || (kernel->major == 5 && kernel->minor >= 14);
}

/* Kernel parameters that leave swap uncounted: then memory.max does not bound what a sandbox holds. */
static bool swap_switched_off(void) {
        char text[4096];

        return probe_read("/proc/cmdline", text, sizeof text) > 0 &&
                (strstr(text, "swapaccount=0") || strstr(text, "cgroup.memory=noswap"));
}

/* No /proc/swaps: a kernel without swap (CONFIG_SWAP). */
static enum facts_swap_control swap_control(const char *root) {
        char name[NAME_MAX + 1];

        if (access("/proc/swaps", F_OK) < 0)
                return FACTS_SWAP_CONTROL_NO_SWAP;
        if (find_sample(root, true, name))
                return exists_in(root, name, "memory.swap.max") ? FACTS_SWAP_CONTROL_LIMITED : FACTS_SWAP_CONTROL_UNACCOUNTED;
        return swap_switched_off() ? FACTS_SWAP_CONTROL_UNACCOUNTED : FACTS_SWAP_CONTROL_LIMITED;
}

/* systemd.slice naming: a user's manager owns user-UID.slice/user@UID.service and hands out what was delegated to that. */
static const char **systemd_controllers(struct arena *arena, const struct facts_identity *identity, size_t *ret_n) {
        char cgroup[128];

        if (identity->euid == 0)
                return words_in(arena, "", "cgroup.controllers", ret_n);
        snprintf(cgroup, sizeof cgroup, "/user.slice/user-%u.slice/user@%u.service", identity->euid, identity->euid);
        return words_in(arena, cgroup, "cgroup.controllers", ret_n);
}

int probe_delegation(struct arena *arena, const struct facts_facts *facts, struct facts_delegation **ret, struct error *err) {
        struct facts_delegation *delegation = arena_new(arena, struct facts_delegation);
        const char *root = facts->cgroup->root;

        (void)err;
        delegation->swap = swap_control(root ? root : "/");
        delegation->kill = has_kill(root ? root : "/", facts->kernel);
        delegation->systemd = access("/run/systemd/system", F_OK) == 0; /* sd_booted(3) */
        if (delegation->systemd)
                delegation->systemd_controllers = systemd_controllers(arena, facts->identity, &delegation->n_systemd_controllers);
        if (root) {
                delegation->enabled = words_in(arena, root, "cgroup.subtree_control", &delegation->n_enabled);
                delegation->occupied = occupied(root);
        }
        *ret = delegation;
        return 0;
}
