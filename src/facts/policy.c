/* The host policy file seen from outside: is it there, and could only root have written it? Who can write it decides what every
 * sandbox may do. */
#define _GNU_SOURCE
#include "facts/probe.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

const char *facts_policy_path(void) {
        return "/etc/sage-runtime/host.json";
}

static bool only_root_writes(const struct stat *st) {
        return st->st_uid == 0 && !(st->st_mode & (S_IWGRP | S_IWOTH));
}

/* Who may write the directory may put another file in its place. A symlink is judged as what it is: not a file of root's. */
static bool trusted(const char *path, const struct stat *file) {
        char directory[PATH_MAX];
        char *slash;
        struct stat st;

        if (!S_ISREG(file->st_mode) || !only_root_writes(file))
                return false;
        snprintf(directory, sizeof directory, "%s", path);
        slash = strrchr(directory, '/');
        if (!slash)
                return false;
        slash[slash == directory] = '\0';
        return stat(directory, &st) == 0 && only_root_writes(&st);
}

int probe_policy(struct arena *arena, const char *path, struct facts_policy **ret, struct error *err) {
        struct facts_policy *policy = arena_new(arena, struct facts_policy);
        struct stat st;

        policy->path = arena_strdup(arena, path);
        if (lstat(path, &st) == 0) {
                policy->present = true;
                policy->trusted = trusted(path, &st);
        } else if (errno != ENOENT && errno != ENOTDIR && errno != EACCES) {
                return fail_errno(err, CODE_CAPABILITY_UNSUPPORTED, errno, path, "cannot look at the host policy");
        }
        *ret = policy;
        return 0;
}
