/* The limits of a cgroup changed while processes are in it, all of them or none. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "apply/cgroup_devices.h"
#include "base/arena.h"
#include "base/error.h"
#include "spec/plan.h"

/* How to take an update back: what to write, the last change first; and the device programs. */
struct cgroup_changes {
        struct cgroup_change { const char *file, *value; } *list;
        size_t n;
        struct cgroup_devices_exchange devices;
};

#define CGROUP_UNCHANGED { .devices = CGROUP_DEVICES_UNCHANGED }

/* Enables the controllers that the writes of CGROUP need, makes the writes, and exchanges the device program where limitDevices is there
 * at all (false: none any more). When one fails those before it are taken back; should that fail, too, err->effect is "applied". The memory
 * of RET is ARENA's; its descriptors are the caller's to close. FD is the directory PATH. */
int cgroup_update(struct arena *arena, const char *path, int fd, const struct plan_cgroup *cgroup, struct cgroup_changes *ret,
                  struct error *err);

/* Takes CHANGES back. False: not all of it. */
bool cgroup_revert(int fd, const struct cgroup_changes *changes);

void cgroup_changes_close(struct cgroup_changes *changes);
#define _cleanup_cgroup_changes_ __attribute__((cleanup(cgroup_changes_close)))

/* What to write to FILE, where WRITTEN was written, so that it says OLD again; NULL where nobody knows. Pure. */
const char *cgroup_old_value(struct arena *arena, const char *file, const char *written, const char *old);
