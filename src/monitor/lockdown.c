#define _GNU_SOURCE
#include "monitor/lockdown.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "apply/seccomp.h"
#include "base/fd.h"
#include "base/str.h"

#if defined(__x86_64__)
#define OUR_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OUR_ARCH AUDIT_ARCH_AARCH64
#else
#error "which AUDIT_ARCH_ is this? (linux/audit.h)"
#endif

/* What the loop of monitor.c takes, the C library's memory and directories included. Nothing makes a file, a process or a socket. */
static const int calls[] = {
        SYS_read,
        SYS_pread64,
        SYS_write,
        SYS_close,
        SYS_openat,
        SYS_openat2,
        SYS_getdents64,
        SYS_lseek,
        SYS_fstat,
        SYS_fstatfs,
        SYS_newfstatat,
        SYS_statx,
        SYS_fcntl,
        SYS_ioctl,
        SYS_ppoll,
        SYS_clock_gettime,
        SYS_clock_nanosleep,
        SYS_pidfd_open,
        SYS_pidfd_send_signal,
        SYS_brk,
        SYS_mmap,
        SYS_munmap,
        SYS_mremap,
        SYS_madvise,
        SYS_getpid,
        SYS_exit_group,
        SYS_rt_sigreturn,
        SYS_restart_syscall,
        SYS_sched_yield,
#ifdef SYS_poll
        SYS_poll,
#endif
#ifdef __SANITIZE_ADDRESS__
        SYS_prlimit64, SYS_sched_getaffinity, SYS_sigaltstack, /* how far the stack goes, asked before what does not return */
#endif
};

static int allow_calls(struct error *err) {
        struct sock_filter code[2 * ELEMENTSOF(calls) + 8];
        struct filter_program program = { .instructions = code };
        int listener = -1;
        uint16_t n = 0;

        code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
        code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OUR_ARCH, 1, 0);
        code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
        code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
        for (size_t i = 0; i < ELEMENTSOF(calls); i++) {
                code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)calls[i], 0, 1);
                code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
        }
        code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
        program.count = n;
        return filter_load(&program, 0, &listener, err);
}

/* Signals for processes of another user, directories that are not for everybody, and, where there is no cgroup to tell processes by, what
 * /proc/PID/ns says (proc(5): "PTRACE_MODE_READ_FSCREDS"). uid 0 without more owns the files of the cgroup, and may write to those. */
static int drop_capabilities(int cgroup, struct error *err) {
        const uint64_t wanted = UINT64_C(1) << CAP_KILL | UINT64_C(1) << CAP_DAC_READ_SEARCH |
                (cgroup < 0 ? UINT64_C(1) << CAP_SYS_PTRACE : 0);
        struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
        struct __user_cap_data_struct data[2] = { 0 };

        if (syscall(SYS_capget, &header, data) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "", "cannot read the monitor's capabilities");
        for (int i = 0; i < 2; i++) {
                data[i].permitted &= (uint32_t)(wanted >> (32 * i));
                data[i].effective = data[i].permitted;
                data[i].inheritable = 0;
        }
        (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
        if (syscall(SYS_capset, &header, data) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "", "cannot drop the monitor's capabilities");
        return 0;
}

/* Where the kernel has Landlock: nothing is written but in that cgroup. Without a cgroup nothing has to be, but then it must be able to look at
 * processes that are not under the same rules, which Landlock does not let it (security/landlock/task.c). */
static void write_only_below(int cgroup) {
        const uint64_t writing = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1 - LANDLOCK_ACCESS_FS_READ_FILE - LANDLOCK_ACCESS_FS_READ_DIR;
        const struct landlock_ruleset_attr attributes = { .handled_access_fs = writing };
        const struct landlock_path_beneath_attr rule = { .allowed_access = LANDLOCK_ACCESS_FS_WRITE_FILE, .parent_fd = cgroup };
        _cleanup_close_ int ruleset = cgroup < 0 ? -1 : (int)syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes, 0);

        if (ruleset >= 0 && syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0)
                (void)syscall(SYS_landlock_restrict_self, ruleset, 0);
}

int lockdown(int cgroup, struct error *err) {
        const struct rlimit none = { 0, 0 };
        int r;

        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || setrlimit(RLIMIT_CORE, &none) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "", "cannot lock the monitor down");
        if ((r = drop_capabilities(cgroup, err)) < 0)
                return r;
        write_only_below(cgroup);
        return allow_calls(err);
}
