#define _GNU_SOURCE
#include "apply/sysctl.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>

#include "apply/procfs.h"
#include "base/fd.h"

/* The value of a sysctl is that of the writer's namespaces, whichever procfs it goes through. An outer container has a read-only mount over
 * /proc/sys: -EXDEV, and then a procfs of our own is used, where the kernel lets us have one. */
static int write_sysctl(int proc, const char *path, const char *value) {
        _cleanup_close_ int detached = -1;
        int r = procfs_write(proc, path, value);

        if (r != -EXDEV && r != -EROFS)
                return r;
        return procfs_open_detached(&detached) < 0 ? r : procfs_write(detached, path, value);
}

int sysctls_write(const struct plan_plan *plan, struct error *err) {
        _cleanup_close_ int proc = -1;
        char path[PATH_MAX];
        int r;

        if (plan->n_sysctls == 0)
                return 0;
        r = procfs_open(&proc, err);
        if (r < 0)
                return r;
        for (size_t i = 0; i < plan->n_sysctls; i++) {
                const struct plan_sysctl *sysctl = &plan->sysctls[i];

                if (snprintf(path, sizeof path, "sys/%s", sysctl->key) >= (int)sizeof path)
                        return fail_errno(err, CODE_CONFIG_INVALID, ENAMETOOLONG, "linux.sysctl", "cannot set this key");
                r = write_sysctl(proc, path, sysctl->value);
                if (r == -ENOENT)
                        return fail(err, CODE_CAPABILITY_UNSUPPORTED, ENOENT, "linux.sysctl", "this kernel has no %s", sysctl->key);
                if (r < 0)
                        return fail_errno(err, CODE_LAUNCH_FAILED, -r, "linux.sysctl", "cannot set %s to '%s'", sysctl->key, sysctl->value);
        }
        return 0;
}
