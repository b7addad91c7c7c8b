#define _GNU_SOURCE
#include "apply/command_mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include "apply/container_path.h"
#include "apply/masks.h"
#include "apply/mount_filesystem.h"
#include "apply/namespaces.h"
#include "base/fd.h"
#include "base/str.h"

static bool is_proc(const struct plan_mount *m) {
        return m->kind == PLAN_MOUNT_KIND_FILESYSTEM && m->type && streq(m->type, "proc");
}

/* Without a cgroup namespace it is a bind of the sandbox's directory, which is as good for every command. */
static bool is_own_cgroup(const struct plan_plan *plan, const struct plan_mount *m) {
        return m->kind == PLAN_MOUNT_KIND_CGROUP && namespaces_has(plan->namespaces, CLONE_NEWCGROUP);
}

/* A procfs shows the PID namespace it was mounted for, so a command in its own needs one of its own. In a user namespace the kernel gives one
 * only to a mount namespace that already shows a procfs with nothing locked over its parts (fs/namespace.c, mount_too_revealing()). The
 * sandbox's /proc is that one: the masks over it were put there by the same user namespace, which could take them off, so they do not count
 * as long as its mount namespace is copied within that user namespace. Hence the order: the new one is made while the old one is in sight,
 * and goes over it, instead of the old one being taken off, which would cost a grace period of the kernel's besides. The old one stays
 * below, where only CAP_SYS_ADMIN over the sandbox could uncover it. */
static int renew(const struct plan_mount *m, int root, struct error *err) {
        struct plan_mount anew = *m;
        _cleanup_close_ int target = -1, tree = -1;
        int r;

        if (m->kind == PLAN_MOUNT_KIND_CGROUP)
                anew.type = "cgroup2";
        target = container_path_try(root, m->destination, O_PATH | O_DIRECTORY, RESOLVE_NO_SYMLINKS);
        r = target < 0 ? target : mount_filesystem_open(&anew, true, m->data, &tree);
        if (r == 0 && move_mount(tree, "", target, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
                r = -errno;
        return r < 0
                ? fail_errno(err, CODE_LAUNCH_FAILED, -r, m->field, "cannot mount the command's own %s on %s", anew.type, m->destination)
                : 0;
}

int command_mounts_renew(const struct plan_plan *plan, struct error *err) {
        _cleanup_close_ int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
        int r = 0;

        if (root < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "/", "cannot open the sandbox's root");
        for (size_t i = 0; r == 0 && i < plan->n_mounts; i++) {
                const struct plan_mount *m = &plan->mounts[i];

                if (is_proc(m) || is_own_cgroup(plan, m))
                        r = renew(m, root, err);
                if (r == 0 && is_proc(m))
                        r = masks_apply_below(plan, root, m->destination, err);
        }
        if (r == 0 && chdir("/") < 0)
                r = fail_errno(err, CODE_LAUNCH_FAILED, errno, "/", "cannot enter the sandbox's root");
        return r;
}
