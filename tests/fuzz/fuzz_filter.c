/* Any profile gives a sound program that returns only what the profile names, or a clean refusal. The input is read as a sequence of
 * numbers that choose rules, then calls to judge. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <stddef.h>

#include "base/str.h"
#include "plan/filter_build.h"
#include "plan/filter_rules.h"
#include "tests/unit/filter_machine.h"

struct input { const uint8_t *at, *end; };

static uint8_t byte(struct input *in) {
        return in->at < in->end ? *in->at++ : 0;
}

static uint64_t number(struct input *in) {
        static const uint64_t borders[] = { 0, 1, 2, 0x7fffffff, 0x80000000, 0xffffffff, 0x100000000, 0x100000001, UINT64_MAX };
        uint8_t kind = byte(in);
        uint64_t n = 0;

        if (kind < 128)
                return borders[kind % ELEMENTSOF(borders)];
        for (int i = 0; i < kind % 9; i++)
                n = n << 8 | byte(in);
        return n;
}

static const char *const names[] = {
        "read",
        "write",
        "open",
        "openat",
        "ioctl",
        "clone",
        "clone3",
        "socket",
        "bind",
        "sendmsg",
        "accept4",
        "socketcall",
        "ipc",
        "semop",
        "shmat",
        "waitpid",
        "statx",
        "prctl",
        "personality",
        "set_tls",
        "cacheflush",
        "unknown",
        "futex_waitv",
        "mmap2",
        "fadvise64_64",
        "getpid",
};

static void make_rule(struct arena *arena, struct input *in, struct oci_seccomp_rule *rule) {
        rule->n_names = 1 + byte(in) % 4;
        rule->names = arena_array(arena, const char *, rule->n_names);
        for (size_t i = 0; i < rule->n_names; i++)
                rule->names[i] = names[byte(in) % ELEMENTSOF(names)];
        rule->action = (enum oci_seccomp_action)(1 + byte(in) % 9);
        if (byte(in) % 4 == 0) {
                rule->has = OCI_SECCOMP_RULE_HAS_ERRNO_RET;
                rule->errno_ret = (uint32_t)number(in) & 0xffff;
        }
        rule->n_args = byte(in) % 8;
        rule->args = arena_array(arena, struct oci_seccomp_arg, rule->n_args);
        for (size_t i = 0; i < rule->n_args; i++)
                rule->args[i] = (struct oci_seccomp_arg){ .index = byte(in) % 7, .op = (enum oci_seccomp_operator)(1 + byte(in) % 7),
                                                          .value = number(in), .value_two = number(in) };
}

static bool names_verdict(const struct oci_seccomp *rules, uint32_t verdict) {
        if (verdict == SECCOMP_RET_KILL_PROCESS || verdict == (SECCOMP_RET_ERRNO | ENOSYS))
                return true;
        if (verdict == filter_action(rules->default_action, rules->has ? rules->default_errno_ret : EPERM))
                return true;
        for (size_t i = 0; i < rules->n_syscalls; i++)
                if (verdict == filter_action(rules->syscalls[i].action, rules->syscalls[i].has ? rules->syscalls[i].errno_ret : EPERM))
                        return true;
        return false;
}

static void judge(const struct oci_seccomp *rules, const struct filter_program *program, struct input *in) {
        static const uint32_t audits[] = { AUDIT_ARCH_X86_64, AUDIT_ARCH_I386, AUDIT_ARCH_AARCH64, AUDIT_ARCH_ARM, 0 };

        while (in->at < in->end) {
                struct seccomp_data data = { .nr = (int)(number(in) % 2 ? number(in) : number(in) % 512), .arch = audits[byte(in) % 5] };

                for (int i = 0; i < 6; i++)
                        data.args[i] = number(in);
                if (!names_verdict(rules, filter_run(program->instructions, program->count, &data).verdict))
                        abort();
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        struct input in = { data, data + size };
        struct arena arena = { 0 };
        enum oci_seccomp_arch arches[4];
        struct oci_seccomp rules = { .default_action = (enum oci_seccomp_action)(1 + byte(&in) % 9), .architectures = arches };
        struct filter_program program;
        uint64_t flags;
        struct error err;

        rules.n_architectures = byte(&in) % 5;
        for (size_t i = 0; i < rules.n_architectures; i++)
                arches[i] = (enum oci_seccomp_arch)(1 + byte(&in) % 23);
        rules.listener_path = byte(&in) % 2 ? "/run/agent" : NULL;
        rules.n_syscalls = byte(&in);
        rules.syscalls = arena_array(&arena, struct oci_seccomp_rule, rules.n_syscalls);
        for (size_t i = 0; i < rules.n_syscalls; i++)
                make_rule(&arena, &in, &rules.syscalls[i]);

        for (int machine = FILTER_X86_64; machine <= FILTER_AARCH64; machine++) {
                struct input calls = in;

                if (filter_build_for(&arena, &rules, (enum filter_machine)machine, &program, &err) < 0)
                        continue;
                if (!filter_is_sound(program.instructions, program.count) || filter_flags(&rules, &flags, &err) < 0)
                        abort();
                judge(&rules, &program, &calls);
        }
        arena_free(&arena);
        return 0;
}
