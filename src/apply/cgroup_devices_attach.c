/* The device program in the kernel: loaded, attached, exchanged. bpf(2); kernel/bpf/cgroup.c. */
#define _GNU_SOURCE
#include "apply/cgroup_devices.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"

enum { PROGRAMS_MAX = 64 }; /* BPF_CGROUP_MAX_PROGS, include/linux/bpf-cgroup-defs.h */

static const char field[] = "linux.resources.devices", name[] = "sage_devices";

static int bpf(enum bpf_cmd command, union bpf_attr *attr) {
        return (int)syscall(SYS_bpf, command, attr, sizeof *attr);
}

/* Unused members of bpf_attr have to be 0, which no initializer promises for a union. */
static void clear(union bpf_attr *attr) {
        memset(attr, 0, sizeof *attr);
}

static int failed(const char *what, struct error *err) {
        return fail_errno(err, CODE_RESOURCE_LIMITS_UNSUPPORTED, errno, field, "cannot %s the device program", what);
}

static int load_instructions(const struct bpf_insn *instructions, size_t n) {
        union bpf_attr attr;

        clear(&attr);
        attr.prog_type = BPF_PROG_TYPE_CGROUP_DEVICE;
        attr.insns = (uintptr_t)instructions;
        attr.insn_cnt = (uint32_t)n;
        attr.license = (uintptr_t) "MIT"; /* no helper is called, so any does */
        memcpy(attr.prog_name, name, sizeof name);
        return bpf(BPF_PROG_LOAD, &attr);
}

/* RET stays as it is when RULES allow everything. */
static int load(const struct plan_device_rule *rules, size_t n, int *ret, struct error *err) {
        _cleanup_arena_ struct arena arena = { 0 };
        struct bpf_insn *instructions;
        size_t n_instructions;
        int fd, r;

        r = cgroup_devices_program(&arena, rules, n, &instructions, &n_instructions, err);
        if (r < 0 || n_instructions == 0)
                return r;
        fd = load_instructions(instructions, n_instructions);
        if (fd < 0)
                return failed("load", err);
        *ret = fd;
        return 0;
}

/* NEW takes the place of OLD in one step (BPF_F_REPLACE, Linux 5.6); OLD -1: NEW is added; NEW -1: OLD is taken away. */
static int exchange(int cgroup, int old, int new) {
        union bpf_attr attr;

        clear(&attr);
        attr.target_fd = (uint32_t)cgroup;
        attr.attach_type = BPF_CGROUP_DEVICE;
        attr.attach_bpf_fd = (uint32_t)(new >= 0 ? new : old);
        if (new < 0)
                return bpf(BPF_PROG_DETACH, &attr);
        attr.attach_flags = BPF_F_ALLOW_MULTI;
        if (old >= 0) {
                attr.attach_flags |= BPF_F_REPLACE;
                attr.replace_bpf_fd = (uint32_t)old;
        }
        return bpf(BPF_PROG_ATTACH, &attr);
}

int cgroup_devices_attach(int cgroup_fd, const struct plan_device_rule *rules, size_t n, struct error *err) {
        _cleanup_close_ int loaded = -1;
        int r = load(rules, n, &loaded, err);

        if (r < 0 || loaded < 0)
                return r;
        return exchange(cgroup_fd, -1, loaded) < 0 ? failed("attach", err) : 0;
}

/* ---- exchanging --------------------------------------------------------------------------------------------------------- */

/* A program that somebody else attached beside ours stays; ours is known by its name. */
static bool is_ours(int program) {
        struct bpf_prog_info info;
        union bpf_attr attr;

        memset(&info, 0, sizeof info);
        clear(&attr);
        attr.info.bpf_fd = (uint32_t)program;
        attr.info.info_len = sizeof info;
        attr.info.info = (uintptr_t)&info;
        return bpf(BPF_OBJ_GET_INFO_BY_FD, &attr) == 0 && strncmp(info.name, name, sizeof info.name) == 0;
}

/* The program that is attached to the cgroup itself. RET stays as it is when there is none. */
static int find_attached(int cgroup, int *ret, struct error *err) {
        uint32_t ids[PROGRAMS_MAX];
        union bpf_attr query;

        clear(&query);
        query.query.target_fd = (uint32_t)cgroup;
        query.query.attach_type = BPF_CGROUP_DEVICE;
        query.query.prog_ids = (uintptr_t)ids;
        query.query.prog_cnt = PROGRAMS_MAX;
        if (bpf(BPF_PROG_QUERY, &query) < 0)
                return failed("look for", err);
        for (uint32_t i = 0; i < query.query.prog_cnt; i++) {
                union bpf_attr attr;
                int fd;

                clear(&attr);
                attr.prog_id = ids[i];
                fd = bpf(BPF_PROG_GET_FD_BY_ID, &attr);
                if (fd < 0 && errno != ENOENT)
                        return failed("open", err);
                if (fd >= 0 && is_ours(fd)) {
                        *ret = fd;
                        return 0;
                }
                close_fd(&fd);
        }
        return 0;
}

int cgroup_devices_replace(int cgroup_fd, const struct plan_device_rule *rules, size_t n, struct cgroup_devices_exchange *ret,
                           struct error *err) {
        _cleanup_close_ int old = -1, new = -1;
        int r;

        if ((r = load(rules, n, &new, err)) < 0 || (r = find_attached(cgroup_fd, &old, err)) < 0)
                return r;
        if ((old >= 0 || new >= 0) && exchange(cgroup_fd, old, new) < 0)
                return failed("exchange", err);
        *ret = (struct cgroup_devices_exchange){ .old = take_fd(&old), .new = take_fd(&new) };
        return 0;
}

bool cgroup_devices_revert(int cgroup_fd, const struct cgroup_devices_exchange *exchanged) {
        return (exchanged->old < 0 && exchanged->new < 0) || exchange(cgroup_fd, exchanged->new, exchanged->old) == 0;
}

void cgroup_devices_exchange_close(struct cgroup_devices_exchange *exchanged) {
        close_fd(&exchanged->old);
        close_fd(&exchanged->new);
}
