/* Profiles for tests of filters. */
#pragma once

#include <errno.h>
#include <seccomp.h>
#include <stdlib.h>

#include "base/str.h"
#include "spec/config.h"

#define ACT(name) OCI_SECCOMP_ACTION_SCMP_ACT_##name
#define CMP(name) OCI_SECCOMP_OPERATOR_SCMP_CMP_##name
#define ARCH(name) OCI_SECCOMP_ARCH_SCMP_ARCH_##name

#define RULE(act, args_, ...) { .names = (const char *[]){ __VA_ARGS__ }, .n_names = ELEMENTSOF(((const char *[]){ __VA_ARGS__ })), \
        .action = ACT(act), .args = (args_).a, .n_args = (args_).n }
struct args { struct oci_seccomp_arg *a; size_t n; };
#define NO_ARGS ((struct args){ 0 })
#define ARGS(...) ((struct args){ (struct oci_seccomp_arg[]){ __VA_ARGS__ }, ELEMENTSOF(((struct oci_seccomp_arg[]){ __VA_ARGS__ })) })

/* What container engines refuse by default. */
static const char *const refused[] = {
        "acct",
        "add_key",
        "bpf",
        "clock_adjtime",
        "clock_settime",
        "clone",
        "clone3",
        "create_module",
        "delete_module",
        "finit_module",
        "fsconfig",
        "fsmount",
        "fsopen",
        "fspick",
        "get_kernel_syms",
        "get_mempolicy",
        "init_module",
        "io_uring_enter",
        "io_uring_register",
        "io_uring_setup",
        "ioperm",
        "iopl",
        "kcmp",
        "kexec_file_load",
        "kexec_load",
        "keyctl",
        "lookup_dcookie",
        "mbind",
        "mount",
        "mount_setattr",
        "move_mount",
        "move_pages",
        "nfsservctl",
        "open_by_handle_at",
        "open_tree",
        "perf_event_open",
        "personality",
        "pivot_root",
        "query_module",
        "quotactl",
        "quotactl_fd",
        "reboot",
        "request_key",
        "set_mempolicy",
        "setns",
        "settimeofday",
        "socket",
        "stime",
        "swapoff",
        "swapon",
        "sysfs",
        "_sysctl",
        "umount",
        "umount2",
        "unshare",
        "uselib",
        "userfaultfd",
        "ustat",
        "vm86",
        "vm86old",
        "vhangup",
        "chroot",
        "syslog",
        "create_module",
        "fanotify_init",
        "sethostname",
        "setdomainname",
        /* No calls of x32 in the kernel's table, and in that of some libseccomp versions they are. */
        "map_shadow_stack",
        "uprobe",
        "uretprobe",
};

static inline bool is_refused(const char *name) {
        for (size_t i = 0; i < ELEMENTSOF(refused); i++)
                if (streq(refused[i], name))
                        return true;
        return false;
}

static inline int by_name(const void *a, const void *b) {
        return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* A profile of the size and shape of an engine's default. */
static inline struct oci_seccomp *engine_default(void) {
        static const char *names[1024],
                *few[][2] = { { "personality" }, { "socket" }, { "clone" }, { "clone3", "a_call_that_nobody_knows" } };
        static struct oci_seccomp_arg args[] = {
                { .index = 0, .op = CMP(EQ), .value = 0 },
                { .index = 0, .op = CMP(EQ), .value = 8 },
                { .index = 0, .op = CMP(EQ), .value = 0x20000 },
                { .index = 0, .op = CMP(EQ), .value = 0x20008 },
                { .index = 0, .op = CMP(EQ), .value = 0xffffffff },
                { .index = 0, .op = CMP(NE), .value = 40 },
                { .index = 0, .op = CMP(MASKED_EQ), .value = 0x7e020000, .value_two = 0 },
        };
        static struct oci_seccomp_rule rules[] = {
                { .names = names, .action = ACT(ALLOW) },
                { .names = few[0], .n_names = 1, .action = ACT(ALLOW), .args = &args[0], .n_args = 1 },
                { .names = few[0], .n_names = 1, .action = ACT(ALLOW), .args = &args[1], .n_args = 1 },
                { .names = few[0], .n_names = 1, .action = ACT(ALLOW), .args = &args[2], .n_args = 1 },
                { .names = few[0], .n_names = 1, .action = ACT(ALLOW), .args = &args[3], .n_args = 1 },
                { .names = few[0], .n_names = 1, .action = ACT(ALLOW), .args = &args[4], .n_args = 1 },
                { .names = few[1], .n_names = 1, .action = ACT(ALLOW), .args = &args[5], .n_args = 1 },
                { .names = few[2], .n_names = 1, .action = ACT(ALLOW), .args = &args[6], .n_args = 1 },
                { .names = few[3], .n_names = 2, .action = ACT(ERRNO), .has = OCI_SECCOMP_RULE_HAS_ERRNO_RET, .errno_ret = ENOSYS },
        };
        static struct oci_seccomp profile = { .default_action = ACT(ERRNO), .syscalls = rules, .n_syscalls = ELEMENTSOF(rules) };
        static const uint32_t tokens[] = { SCMP_ARCH_X86_64, SCMP_ARCH_X86, SCMP_ARCH_AARCH64, SCMP_ARCH_ARM };
        size_t n = 0, kept = 0;

        if (rules[0].n_names)
                return &profile;
        for (size_t i = 0; i < ELEMENTSOF(tokens); i++)
                for (int number = 0; number < 500; number++) {
                        char *name = seccomp_syscall_resolve_num_arch(tokens[i], number);

                        if (!name || is_refused(name) || n == ELEMENTSOF(names))
                                free(name);
                        else
                                names[n++] = name;
                }
        qsort(names, n, sizeof *names, by_name);
        for (size_t i = 0; i < n; i++)
                if (kept == 0 || !streq(names[i], names[kept - 1]))
                        names[kept++] = names[i];
                else
                        free((char *)names[i]);
        rules[0].n_names = kept;
        return &profile;
}
