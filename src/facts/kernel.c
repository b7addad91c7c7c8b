/* The kernel, as far as a launch depends on it. */
#define _GNU_SOURCE
#include "facts/probe.h"

#include "base/str.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/utsname.h>
#include <unistd.h>

/* The file is there only while SELinux is enabled and selinuxfs is mounted (security/selinux/selinuxfs.c). */
#define SELINUX_ENFORCE "/sys/fs/selinux/enforce"

/* "Y" or "N" (security/apparmor/lsm.c, module parameter "enabled"). */
static bool apparmor_enabled(void) {
        char text[4];

        return probe_read("/sys/module/apparmor/parameters/enabled", text, sizeof text) > 0 && text[0] == 'Y';
}

/* seccomp(2), "Returns EINVAL if the kernel has no seccomp"; a program that can ask is not in strict mode. */
static bool seccomp_built_in(void) {
        return prctl(PR_GET_SECCOMP) >= 0 || errno != EINVAL;
}

int probe_kernel(struct arena *arena, struct facts_kernel **ret, struct error *err) {
        struct facts_kernel *kernel = arena_new(arena, struct facts_kernel);
        struct utsname name;
        uint64_t last = 0;
        int r;

        if (uname(&name) < 0)
                return fail_errno(err, CODE_INTERNAL, errno, NULL, "cannot ask the kernel's version");
        if (!str_two_numbers(name.release, '.', &kernel->major, &kernel->minor))
                return fail(
                        err, CODE_CAPABILITY_UNSUPPORTED, EINVAL, NULL, "expected a kernel release such as 6.1.0, found %s", name.release);
        r = probe_number("/proc/sys/kernel/cap_last_cap", &last);
        if (r < 0)
                return fail_errno(err, CODE_CAPABILITY_UNSUPPORTED, -r, "/proc/sys/kernel/cap_last_cap",
                        "cannot read the number of capabilities; is /proc mounted?");
        kernel->release = arena_strdup(arena, name.release);
        kernel->machine = arena_strdup(arena, name.machine);
        kernel->last_capability = (uint32_t)last;
        kernel->apparmor = apparmor_enabled();
        kernel->selinux = access(SELINUX_ENFORCE, F_OK) == 0;
        kernel->seccomp = seccomp_built_in();
        *ret = kernel;
        return 0;
}
