#define _GNU_SOURCE
#include "apply/seccomp.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What seccomp(2) says when it refuses, in words that lead somewhere. */
static const char *reason(int errnum, uint64_t flags) {
        switch (errnum) {
        case EACCES:
                return "the kernel takes a seccomp filter only with noNewPrivileges or CAP_SYS_ADMIN";
        case EBUSY:
                return "an earlier seccomp filter of this process has a listener already";
        case EINVAL:
                return flags ? "this kernel does not know all of the flags of linux.seccomp.flags, or not the program" :
                        "this kernel does not take the program";
        case ENOMEM:
                return "no memory for the seccomp filter, or filters of this process are too long together";
        default:
                return "cannot load the seccomp filter";
        }
}

int filter_load(const struct filter_program *program, uint64_t flags, int *ret_listener, struct error *err) {
        const struct sock_fprog fprog = { .len = program->count, .filter = program->instructions };
        long r = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &fprog);

        if (r < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "linux.seccomp", "%s", reason(errno, flags));
        if (flags & SECCOMP_FILTER_FLAG_NEW_LISTENER) {
                *ret_listener = (int)r;
                return 0;
        }
        if (r > 0) /* TSYNC: the thread that could not follow. We have only one. */
                return fail(err, CODE_LAUNCH_FAILED, ESRCH, "linux.seccomp", "thread %ld has another seccomp filter", r);
        *ret_listener = -1;
        return 0;
}
