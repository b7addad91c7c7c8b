/* A container's claim on its cgroup (schemas/status.json, cgroupClaim): is what lies at its path still the directory that was claimed?
 *
 * A cgroup that is empty may be removed by anybody with the right to, and another container be made at the same path; nor does any cgroup
 * outlive the kernel. So the claim holds the directory's inode, whose number no other cgroup gets while this kernel runs (fs/kernfs/dir.c:
 * they are counted up), and the container the boot. */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "life/state.h"

/* For a cgroup that is there before its container is made: takes it over from a container below ROOT (a path), other than ID, that
 * claims it. A stopped one loses its claim and the cgroup is removed, so that nothing of the old one's limits is left; CLAIM then says how
 * many components are ours. CODE_BUSY when that container lives, or its cgroup holds something. Of a cgroup that no container claims
 * nothing is changed. */
int cgroup_claim_take_over(struct arena *arena, const char *root, const char *id, struct status_cgroup_claim *claim, struct error *err);

/* Notes which directory FD is in CLAIM, before it is saved. */
void cgroup_claim_identify(struct status_cgroup_claim *claim, int fd);

/* Opens the claimed directory (O_PATH). -ENOENT when there is no claim, or when it is gone: also if another is in its place. */
int cgroup_claim_open(const struct container *container, int *ret);

/* What is at the path of the claim, which there must be, now. 0 or a negative errno. */
enum cgroup_claim { CGROUP_CLAIM_GONE, CGROUP_CLAIM_OURS, CGROUP_CLAIM_ANOTHERS };
int cgroup_claim_look(const struct container *container, enum cgroup_claim *ret);
