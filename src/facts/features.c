/* What the kernel can do beyond that: for `check`, and for bundles that ask for something rare. */
#define _GNU_SOURCE
#include "facts/probe.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"

/* landlock_create_ruleset(2): with this flag and no attributes it returns the ABI's version. */
#define LANDLOCK_VERSION 1u

static uint32_t landlock_abi(void) {
        long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_VERSION);

        return abi > 0 ? (uint32_t)abi : 0;
}

static int compare_words(const void *a, const void *b) {
        return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* namespaces(7): one link a kind, and the two that are meant for children again under names of their own. */
static const char **namespaces(struct arena *arena, size_t *ret_n) {
        _cleanup_dir_ DIR *dir = opendir("/proc/self/ns");
        const char **names = arena_array(arena, const char *, 17);
        struct dirent *entry;
        size_t n = 0;

        while (dir && n < 16 && (entry = readdir(dir)))
                if (entry->d_name[0] != '.' && !strstr(entry->d_name, "_for_children"))
                        names[n++] = arena_strdup(arena, entry->d_name);
        qsort(names, n, sizeof *names, compare_words);
        *ret_n = n;
        return names;
}

int probe_features(struct arena *arena, struct facts_features **ret, struct error *err) {
        struct facts_features *features = arena_new(arena, struct facts_features);
        char text[512];

        (void)err;
        if (probe_read("/sys/kernel/security/lsm", text, sizeof text) >= 0)
                features->lsms = probe_words(arena, text, ",", &features->n_lsms);
        if (probe_read("/proc/sys/kernel/seccomp/actions_avail", text, sizeof text) < 0)
                text[0] = '\0';
        features->seccomp_actions = probe_words(arena, text, " ", &features->n_seccomp_actions);
        features->namespaces = namespaces(arena, &features->n_namespaces);
        features->selinux_enforcing = probe_read("/sys/fs/selinux/enforce", text, sizeof text) > 0 && text[0] == '1';
        features->landlock = landlock_abi();
        *ret = features;
        return 0;
}
