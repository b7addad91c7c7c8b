/* The host policy file seen from outside: is it there, and could only root have written it? Who can write it decides what every
 * sandbox may do. */
#define _GNU_SOURCE
#include "facts/probe.h"

#include <errno.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "facts/trusted_file.h"

const char *facts_policy_path(void) {
        return "/etc/sage-runtime/host.json";
}

/* By the same judgement as when it is read. */
static bool trusted(const char *path) {
        struct error ignored;
        _cleanup_close_ int fd = trusted_file_open(path, false, &ignored);

        return fd >= 0;
}

int probe_policy(struct arena *arena, const char *path, struct facts_policy **ret, struct error *err) {
        struct facts_policy *policy = arena_new(arena, struct facts_policy);
        struct stat st;

        policy->path = arena_strdup(arena, path);
        if (lstat(path, &st) == 0) {
                policy->present = true;
                policy->trusted = trusted(path);
        } else if (errno != ENOENT && errno != ENOTDIR && errno != EACCES) {
                return fail_errno(err, CODE_CAPABILITY_UNSUPPORTED, errno, path, "cannot look at the host policy");
        }
        *ret = policy;
        return 0;
}
