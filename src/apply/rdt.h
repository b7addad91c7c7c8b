/* linux.intelRdt: classes of service and monitoring groups of the resctrl file system (Documentation/filesystems/resctrl.rst). Where that
 * is mounted comes with every call, so that a test can hand over a directory of its own. All of it is the host's: no container path. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "spec/plan.h"
#include "spec/status.h"

/* What container ID holds if nothing of it was there before it: for one whose claims are lost. NULL where
 * RDT is NULL or has no root. */
struct status_rdt_claim *rdt_claim(struct arena *arena, const struct plan_rdt *rdt, const char *id);

/* What a launch of container ID would hold, and what is there already: looks and changes nothing. A class that closID names must be
 * there where nothing else is said of it, and must hold what is said of it where it is there (config-linux.md, "IntelRdt"): CODE_NOT_FOUND,
 * CODE_EXISTS. The claim lives in ARENA. */
int rdt_examine(struct arena *arena, const struct plan_rdt *rdt, const char *id, struct status_rdt_claim **ret, struct error *err);

/* Makes what CLAIM says is ours, and writes the schemata of a group that was not compared with them. On failure the caller releases the
 * claim, from which is taken out what somebody else made in the meantime. */
int rdt_make(const struct plan_rdt *rdt, struct status_rdt_claim *claim, struct error *err);

/* Puts PID, a child of ours, into the class and its monitoring group; what it forks inherits both. CLAIM may be NULL: nothing to do. */
int rdt_enter(const struct status_rdt_claim *claim, pid_t pid, struct error *err);

/* Removes what is ours of CLAIM (NULL: nothing). What is gone is no error. */
int rdt_remove(const struct status_rdt_claim *claim, struct error *err);

/* For update: writes L3_CACHE and MEM_BW (either may be NULL) to the class, both or none. What was there before is put into BEFORE, for
 * rdt_restore(), which is 0 or a negative errno. */
int rdt_change(const struct status_rdt_claim *claim, const char *l3_cache, const char *mem_bw, struct str *before, struct error *err);
int rdt_restore(const struct status_rdt_claim *claim, const struct str *before);
