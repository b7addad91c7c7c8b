/* Mounts for a container that is there already (`mounts add` and `mounts remove`). */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "spec/config.h"
#include "spec/facts.h"
#include "spec/plan.h"

/* Compiles the N mounts ASKED for as compile() does those of config.json, for the container that PLAN describes. What cannot be made from
 * outside it is refused by its field: proc, which would need a process in the container's pid namespace (where a program with
 * CAP_SYS_PTRACE could take it over), views of the host that stand in for sysfs or cgroup, and copies of symlinks. The result lives in
 * ARENA; ret_warnings is NULL-terminated, or NULL. */
int live_mounts_compile(struct arena *arena, const struct oci_mount *asked, size_t n, const struct plan_plan *plan,
        const struct facts_facts *facts, struct plan_mount **ret, const char ***ret_warnings, struct error *err);

/* The same for mounts that are to be taken off: only field and destination are set, as nothing else matters. */
struct plan_mount *live_mounts_destinations(struct arena *arena, const struct oci_mount *asked, size_t n);
