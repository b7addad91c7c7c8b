#define _GNU_SOURCE
#include "apply/lsm.h"

#include <errno.h>
#include <stdio.h>

#include "apply/procfs.h"
#include "base/fd.h"

/* SELinux contexts fit in a page, AppArmor profile names in PATH_MAX. */
#define LABEL_MAX 4096

static int fail_label(struct error *err, int errnum, const char *field, const char *lsm, const char *label) {
        if (errnum == EINVAL || errnum == ENOENT)
                return fail(err, CODE_CAPABILITY_UNSUPPORTED, errnum, field,
                        "%s does not take '%s': it is not active on this host, or has no such label", lsm, label);
        return fail_errno(err, CODE_LAUNCH_FAILED, errnum, field, "%s does not take '%s'", lsm, label);
}

/* AppArmor has a directory of its own since LSMs stack (Linux 5.8); before, or without that option, the shared file is its. */
static int set_apparmor(int proc, const char *profile, struct error *err) {
        char text[LABEL_MAX];
        int r;

        if (snprintf(text, sizeof text, "exec %s", profile) >= (int)sizeof text)
                return fail_errno(err, CODE_CONFIG_INVALID, ENAMETOOLONG, "process.apparmorProfile", "cannot use this profile");
        r = procfs_write(proc, "self/attr/apparmor/exec", text);
        if (r == -ENOENT)
                r = procfs_write(proc, "self/attr/exec", text);
        return r < 0 ? fail_label(err, -r, "process.apparmorProfile", "AppArmor", profile) : 0;
}

static int set_selinux(int proc, const char *label, struct error *err) {
        int r = procfs_write(proc, "self/attr/exec", label);

        return r < 0 ? fail_label(err, -r, "process.selinuxLabel", "SELinux", label) : 0;
}

int lsm_set_exec_label(const struct plan_process *process, int proc, struct error *err) {
        _cleanup_close_ int own = -1;
        int r = 0;

        if (!process->apparmor_profile && !process->selinux_label)
                return 0;
        if (proc < 0) {
                r = procfs_open(&own, err);
                proc = own;
        }
        if (r == 0 && process->selinux_label)
                r = set_selinux(proc, process->selinux_label, err);
        if (r == 0 && process->apparmor_profile)
                r = set_apparmor(proc, process->apparmor_profile, err);
        return r;
}
