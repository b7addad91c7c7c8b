#define _GNU_SOURCE
#include "apply/idmap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/process.h"
#include "base/signals.h"
#include "base/str.h"

static int write_file(pid_t pid, const char *name, const char *text, size_t size, struct error *err) {
        char path[64];
        int r;

        snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
        r = file_write(AT_FDCWD, path, text, size);
        return r < 0 ? fail_errno(err, CODE_LAUNCH_FAILED, -r, path, "cannot write the id map") : 0;
}

static int write_map(pid_t pid, const char *name, const struct plan_id_range *ranges, size_t n, struct error *err) {
        _cleanup_str_ struct str text = { 0 };

        for (size_t i = 0; i < n; i++)
                str_printf(&text, "%u %u %u\n", ranges[i].inside, ranges[i].outside, ranges[i].count);
        return text.size ? write_file(pid, name, text.text, text.size, err) : 0;
}

/* newuidmap(1) and newgidmap(1) are set-user-ID root and let an ordinary user map the ranges that subuid(5) gives it. */
static int run_helper(const char *helper, pid_t pid, const struct plan_id_range *ranges, size_t n, struct error *err) {
        _cleanup_arena_ struct arena arena = { 0 };
        char **argv = arena_array(&arena, char *, 3 + 3 * n);
        _cleanup_close_ int pidfd = -1;
        int status = 0, r;

        argv[0] = arena_strdup(&arena, helper);
        argv[1] = arena_printf(&arena, "%d", pid);
        for (size_t i = 0; i < n; i++) {
                argv[2 + 3 * i] = arena_printf(&arena, "%u", ranges[i].inside);
                argv[3 + 3 * i] = arena_printf(&arena, "%u", ranges[i].outside);
                argv[4 + 3 * i] = arena_printf(&arena, "%u", ranges[i].count);
        }
        r = process_clone(0, -1, &pidfd);
        if (r == 0) {
                (void)signals_reset();
                execvp(helper, argv);
                _exit(127);
        }
        if (r < 0 || (r = process_reap(pidfd, &status)) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, -r, helper, "cannot run this helper");
        if (status == 127)
                return fail(err, CODE_CAPABILITY_UNSUPPORTED, ENOENT, helper, "not found: install it (package uidmap), or map only your own id");
        if (status != 0)
                return fail(err, CODE_LAUNCH_FAILED, EPERM, helper, "refused the id map (status %d); /etc/subuid and /etc/subgid list what is yours", status);
        return 0;
}

int idmap_write(pid_t pid, const struct plan_ids *ids, struct error *err) {
        int r;

        if (ids->use_helpers) {
                if ((r = run_helper("newuidmap", pid, ids->uid_map, ids->n_uid_map, err)) < 0)
                        return r;
                return run_helper("newgidmap", pid, ids->gid_map, ids->n_gid_map, err);
        }
        /* A process that may drop a supplementary group could open what "group may not" forbids: CVE-2014-8989. */
        if (ids->deny_setgroups && (r = write_file(pid, "setgroups", "deny", 4, err)) < 0)
                return r;
        if ((r = write_map(pid, "uid_map", ids->uid_map, ids->n_uid_map, err)) < 0)
                return r;
        return write_map(pid, "gid_map", ids->gid_map, ids->n_gid_map, err);
}

/* Who we are while the tree is built: root of the namespace, or who there is in its stead. A map that nobody could read is empty. */
static uint32_t builder(const struct plan_id_range *ranges, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (ranges[i].inside == 0)
                        return 0;
        return n == 0 ? 0 : ranges[0].inside;
}

/* The raw calls: the C library's would signal other threads, and there are none. Where 0 is not mapped, none of the ids that change here is
 * the namespace's root, and all capabilities stay (capabilities(7), "Effect of user ID changes on capabilities"). */
int idmap_become_root(const struct plan_ids *ids, struct error *err) {
        const uint32_t gid = builder(ids->gid_map, ids->n_gid_map), uid = builder(ids->uid_map, ids->n_uid_map);

        /* Of a joined namespace whose map nobody could read, the kernel knows whether there is a 0: EINVAL says no. */
        if (syscall(SYS_setresgid, gid, gid, gid) < 0 && (ids->n_gid_map || errno != EINVAL))
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "linux.gidMappings", "cannot become gid %u of the user namespace", gid);
        if (syscall(SYS_setresuid, uid, uid, uid) < 0 && (ids->n_uid_map || errno != EINVAL))
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "linux.uidMappings", "cannot become uid %u of the user namespace", uid);
        return 0;
}
