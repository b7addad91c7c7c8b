#define _GNU_SOURCE
#include "apply/credentials.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "apply/procfs.h"
#include "base/fd.h"
#include "base/str.h"

#define BIT(n) (UINT64_C(1) << (n))

int credentials_hide(struct error *err) {
        if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "process", "cannot make the process non-dumpable");
        return 0;
}

int credentials_no_new_privileges(const struct plan_process *process, struct error *err) {
        if (process->no_new_privileges && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "process.noNewPrivileges", "cannot forbid new privileges");
        return 0;
}

/* EINVAL is the first number that this kernel has no capability for (capabilities(7), cap_last_cap), so that is not asked for
 * separately. */
int credentials_drop_bounding(const struct plan_process *process, struct error *err) {
        for (unsigned n = 0; n < 64; n++) {
                if (process->capabilities->bounding & BIT(n))
                        continue;
                if (prctl(PR_CAPBSET_DROP, n, 0, 0, 0) == 0)
                        continue;
                if (errno == EINVAL)
                        return 0;
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "process.capabilities.bounding", "cannot drop capability %u", n);
        }
        return 0;
}

/* May our groups stay because there are none, or because the user namespace denies setgroups(2) (user_namespaces(7))? A filter of an outer
 * container answers EPERM as well, and then they must not. Where the container has no /proc to ask, the namespace is believed. */
static bool groups_may_stay(void) {
        _cleanup_close_ int proc = -1, fd = -1;
        struct error ignored;
        char text[8] = "";

        if (syscall(SYS_getgroups, 0, NULL) == 0 || procfs_open(&proc, &ignored) < 0)
                return true;
        fd = openat(proc, "self/setgroups", O_RDONLY | O_CLOEXEC);
        return fd < 0 || read(fd, text, sizeof text - 1) < 0 || !str_after(text, "allow");
}

/* An empty list that we cannot have is no failure where setgroups is denied: `check` tells that supplementary groups stay. */
static int set_groups(const struct plan_process *process, struct error *err) {
        int errnum;

        if (process->keep_groups || syscall(SYS_setgroups, process->n_groups, process->groups) == 0)
                return 0;
        errnum = errno;
        if (errnum == EPERM && process->n_groups == 0 && groups_may_stay())
                return 0;
        return fail_errno(err, CODE_LAUNCH_FAILED, errnum, "process.user.additionalGids", "cannot set the supplementary groups%s",
                errnum == EPERM ? "; in a user namespace this takes gidMappings written by newgidmap" : "");
}

/* Each change of ids resets the dumpable flag to fs.suid_dumpable, which may be 1 (proc_sys_fs(5)). */
static int set_ids(const struct plan_process *process, struct error *err) {
        int r;

        if (syscall(SYS_setresgid, process->gid, process->gid, process->gid) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "process.user.gid", "cannot become gid %u", process->gid);
        if (process->gid != 0) {
                r = credentials_hide(err);
                if (r < 0)
                        return r;
        }
        if (syscall(SYS_setresuid, process->uid, process->uid, process->uid) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "process.user.uid", "cannot become uid %u", process->uid);
        return credentials_hide(err);
}

struct cap_sets {
        struct __user_cap_header_struct header;
        struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
};

static int cap_set(uint64_t effective, uint64_t permitted, uint64_t inheritable) {
        struct cap_sets sets = { .header = { .version = _LINUX_CAPABILITY_VERSION_3 } };

        for (unsigned i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
                sets.data[i] = (struct __user_cap_data_struct){
                        .effective = (uint32_t)(effective >> 32 * i),
                        .permitted = (uint32_t)(permitted >> 32 * i),
                        .inheritable = (uint32_t)(inheritable >> 32 * i),
                };
        return syscall(SYS_capset, &sets.header, sets.data) < 0 ? -errno : 0;
}

/* What this process has at most, for a runtime that itself runs with less than all capabilities. */
static int cap_get_permitted(uint64_t *ret) {
        struct cap_sets sets = { .header = { .version = _LINUX_CAPABILITY_VERSION_3 } };

        if (syscall(SYS_capget, &sets.header, sets.data) < 0)
                return -errno;
        *ret = (uint64_t)sets.data[1].permitted << 32 | sets.data[0].permitted;
        return 0;
}

/* Capabilities that cannot be granted are left out, as runtime-spec config.md ("capabilities") allows. */
static int set_capabilities(const struct plan_capabilities *wanted, struct error *err) {
        uint64_t had = 0;
        int r = cap_set(wanted->effective, wanted->permitted, wanted->inheritable);

        if (r == -EPERM) {
                r = cap_get_permitted(&had);
                if (r == 0)
                        r = cap_set(wanted->effective & wanted->permitted & had, wanted->permitted & had, wanted->inheritable & had);
        }
        return r < 0 ? fail_errno(err, CODE_LAUNCH_FAILED, -r, "process.capabilities", "cannot set the capabilities") : 0;
}

/* An ambient bit takes the permitted and the inheritable one (capabilities(7)); those that miss it are left out. capset(2) has already
 * taken away what the caller's ambient set had beyond that, the rest goes only if there can be one. */
static int set_ambient(const struct plan_capabilities *wanted, struct error *err) {
        if (wanted->permitted & wanted->inheritable & ~wanted->ambient && prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "process.capabilities.ambient", "cannot clear the ambient capabilities");
        for (unsigned n = 0; n < 64; n++)
                if (wanted->ambient & BIT(n) && prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, n, 0, 0) < 0 && errno != EPERM &&
                        errno != EINVAL)
                        return fail_errno(err, CODE_LAUNCH_FAILED, errno, "process.capabilities.ambient", "cannot raise capability %u", n);
        return 0;
}

int credentials_set(const struct plan_process *process, struct error *err) {
        const struct plan_capabilities *wanted = process->capabilities;
        int r = set_groups(process, err);

        /* Without it, leaving uid 0 clears all sets; execve(2) clears the flag. */
        if (r == 0 && process->uid != 0 && (wanted->permitted | wanted->effective | wanted->inheritable) &&
                prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0)
                r = fail_errno(err, CODE_LAUNCH_FAILED, errno, "process.capabilities", "cannot keep capabilities");
        if (r == 0)
                r = set_ids(process, err);
        if (r == 0)
                r = set_capabilities(wanted, err);
        if (r == 0)
                r = set_ambient(wanted, err);
        if (r == 0)
                umask(process->has & PLAN_PROCESS_HAS_UMASK ? process->umask : 0022);
        return r;
}
