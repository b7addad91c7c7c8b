/* Which devices a cgroup's processes may make and open: an eBPF program (BPF_PROG_TYPE_CGROUP_DEVICE), which cgroup v2 has in place of a
 * devices controller.
 *
 * Every one of the three accesses (mknod, read, write) is decided by the last rule that names it for the device; where there is none it
 * is denied. A call that asks for several is allowed when each of them is, so `allow r` and `allow w` together allow opening for both. */
#pragma once

#include <linux/bpf.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "spec/plan.h"

/* The program for N RULES, in ARENA; *RET_N is 0 when they allow everything, so that no program is needed. Pure. */
int cgroup_devices_program(struct arena *arena, const struct plan_device_rule *rules, size_t n, struct bpf_insn **ret, size_t *ret_n,
                           struct error *err);

/* Loads that program and attaches it to the cgroup, beside any that are there or above: all of them have to allow. Called in the
 * runtime, not in the child. -EPERM, with ERR filled, where eBPF is not for this user (user namespace, rootless): the caller decides.
 * RLIMIT_MEMLOCK is left alone: since Linux 5.11 the memory of programs is the memory cgroup's business.
 *
 * cgroup_fd  of the cgroup's directory, O_PATH will do */
int cgroup_devices_attach(int cgroup_fd, const struct plan_device_rule *rules, size_t n, struct error *err);

/* Two device programs of a cgroup, -1 for none: what was attached, and what took its place. */
struct cgroup_devices_exchange { int old, new; };

#define CGROUP_DEVICES_UNCHANGED { .old = -1, .new = -1 }

/* Puts the program for RULES in the place of the one that cgroup_devices_attach() attached, in one step: at no moment is there none. */
int cgroup_devices_replace(int cgroup_fd, const struct plan_device_rule *rules, size_t n, struct cgroup_devices_exchange *ret,
                           struct error *err);

/* The other way round. False: not done. */
bool cgroup_devices_revert(int cgroup_fd, const struct cgroup_devices_exchange *exchanged);

void cgroup_devices_exchange_close(struct cgroup_devices_exchange *exchanged);
