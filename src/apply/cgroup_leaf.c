#define _GNU_SOURCE
#include "apply/cgroup_leaf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "apply/cgroup.h"
#include "apply/cgroup_file.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/str.h"

/* ---- controllers -------------------------------------------------------------------------------------------------------- */

static int hand_on(int dir, const char *controller) {
        char text[64];
        int n = snprintf(text, sizeof text, "+%s", controller);

        return n < (int)sizeof text ? file_write(dir, "cgroup.subtree_control", text, (size_t)n) : -ENOENT;
}

/* The field of the first limit that CONTROLLER is for. */
static const char *field_of(const struct plan_cgroup *cgroup, const char *controller) {
        for (size_t i = 0; i < cgroup->n_writes; i++) {
                const char *rest = str_after(cgroup->writes[i].file, controller);

                if (rest && *rest == '.')
                        return cgroup->writes[i].field;
        }
        return "linux.resources";
}

int cgroup_leaf_prepare(int dir, const struct plan_cgroup *cgroup, struct error *err) {
        char available[CGROUP_FILE_SIZE], type[CGROUP_FILE_SIZE];
        int r;

        if ((r = cgroup_file_read(dir, "cgroup.controllers", available)) < 0 || (r = cgroup_file_read(dir, "cgroup.type", type)) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, -r, "cgroup.controllers", "cannot look at the sandbox's cgroup");
        /* Below a threaded one no process can be made; the kernel would say so only then, and not why. */
        if (!cgroup_has_word(type, "domain") || cgroup_has_word(type, "invalid"))
                return fail(err, CODE_RESOURCE_LIMITS_UNSUPPORTED, EOPNOTSUPP, "cgroup.type",
                        "expected a cgroup of type domain for the sandbox, found %.*s", (int)strcspn(type, "\n"), type);
        for (size_t i = 0; i < cgroup->n_controllers; i++)
                if ((r = hand_on(dir, cgroup->controllers[i])) < 0)
                        return fail_errno(err, CODE_RESOURCE_LIMITS_UNSUPPORTED, -r, field_of(cgroup, cgroup->controllers[i]),
                                "cannot hand the %s controller on to the commands of the sandbox", cgroup->controllers[i]);
        for (size_t i = 0; i < cgroup->n_accounting; i++)
                if (cgroup_has_word(available, cgroup->accounting[i]))
                        (void)hand_on(dir, cgroup->accounting[i]);
        return 0;
}

/* /proc/swaps is there where the kernel was built with CONFIG_SWAP. */
int cgroup_check_swap(int dir, const struct plan_cgroup *cgroup, struct error *err) {
        for (size_t i = 0; i < cgroup->n_writes; i++)
                if (streq(cgroup->writes[i].file, "memory.swap.max") && faccessat(dir, "memory.swap.max", F_OK, 0) < 0 &&
                        access("/proc/swaps", F_OK) == 0)
                        return fail(err, CODE_RESOURCE_LIMITS_UNSUPPORTED, EOPNOTSUPP, cgroup->writes[i].field,
                                "cgroups have no memory.swap.max, so memory can leave the limit by way of swap");
        return 0;
}

/* ---- one leaf ----------------------------------------------------------------------------------------------------------- */

/* What container-aware programs look for in their own cgroup, and there alone: the hierarchy above is out of their sight (cgroup
 * namespaces(7)). That the sandbox's own limit is as tight makes these no limit that could be had twice. */
static bool is_read_by_programs(const char *file) {
        static const char *const files[] = { "cpu.max", "memory.max", "memory.swap.max", "pids.max" };

        for (size_t i = 0; i < ELEMENTSOF(files); i++)
                if (streq(file, files[i]))
                        return true;
        return false;
}

static int limit(int leaf, const struct plan_cgroup *cgroup, struct error *err) {
        static const char yes[] = "1";
        int r;

        for (size_t i = 0; i < cgroup->n_writes; i++)
                if (is_read_by_programs(cgroup->writes[i].file) && (r = cgroup_limit_one(leaf, &cgroup->writes[i], err)) < 0)
                        return r;
        /* No such file: the memory controller is not there, and nobody is killed by it. */
        r = file_write(leaf, "memory.oom.group", yes, strlen(yes));
        return r < 0 && r != -ENOENT
                ? fail_errno(err, CODE_LAUNCH_FAILED, -r, "memory.oom.group", "cannot have a command killed as a whole")
                : 0;
}

int cgroup_leaf_make(int dir, const char *name, const struct plan_cgroup *cgroup, int *ret_fd, struct error *err) {
        _cleanup_close_ int fd = -1;
        int r = mkdirat(dir, name, 0755) < 0 ? -errno : 0;

        if (r == -EEXIST)
                return r;
        if (r == 0 && (fd = openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) < 0)
                r = -errno;
        if (r < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, -r, name, "cannot make this cgroup of the sandbox");
        if (cgroup && (r = limit(fd, cgroup, err)) < 0) {
                (void)unlinkat(dir, name, AT_REMOVEDIR);
                return r;
        }
        *ret_fd = take_fd(&fd);
        return 0;
}

int cgroup_leaf_end(const char *path, struct error *err) {
        _cleanup_close_ int fd = -1;
        struct error second;
        int r;

        if (rmdir(path) == 0 || errno == ENOENT)
                return 0;
        fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0)
                return errno == ENOENT ? 0 : fail_errno(err, CODE_LOST, errno, path, "cannot look at the command's cgroup");
        if ((r = cgroup_kill(fd, &second)) < 0 || (r = cgroup_remove(path, 1, &second)) < 0)
                return fail(err, CODE_LOST, -r, path, "processes of the command do not die: %s", second.text);
        return 0;
}
