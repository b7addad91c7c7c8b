/* Who we are to the kernel. */
#define _GNU_SOURCE
#include "facts/probe.h"

#include <errno.h>
#include <linux/capability.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* PROC_USER_INIT_INO (include/linux/proc_ns.h): the inode of the initial user namespace is the same on every kernel. A uid_map that
 * reads "0 0 4294967295" proves less: root of a nested namespace can write that too. */
#define INITIAL_USERNS 0xEFFFFFFDu

bool facts_capable(const struct facts_identity *identity, unsigned capability) {
        return identity->initial_userns && (identity->capabilities >> capability & 1);
}

int facts_initial_userns(bool *ret) {
        struct stat st;

        if (stat("/proc/self/ns/user", &st) == 0)
                *ret = st.st_ino == INITIAL_USERNS;
        else if (errno == ENOENT && access("/proc/self/ns", F_OK) == 0)
                *ret = true; /* a kernel without user namespaces */
        else
                return -errno;
        return 0;
}

int probe_identity(struct arena *arena, struct facts_identity **ret, struct error *err) {
        struct facts_identity *identity = arena_new(arena, struct facts_identity);
        struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
        struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { 0 };
        int r;

        /* The auxiliary vector (getauxval(3)) holds what geteuid() would ask for; the runtime does not change its identity. */
        identity->euid = (uint32_t)getauxval(AT_EUID);
        identity->egid = (uint32_t)getauxval(AT_EGID);
        if (syscall(SYS_capget, &header, data) < 0)
                return fail_errno(err, CODE_INTERNAL, errno, NULL, "cannot ask for our own capabilities");
        identity->capabilities = (uint64_t)data[1].effective << 32 | data[0].effective;
        r = facts_initial_userns(&identity->initial_userns);
        if (r < 0)
                return fail_errno(err, CODE_CAPABILITY_UNSUPPORTED, -r, "/proc/self/ns/user",
                        "cannot tell in which user namespace we are; is /proc mounted?");
        *ret = identity;
        return 0;
}
