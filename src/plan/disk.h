/* The limit on what a sandbox may keep on disk: workspace, temporary files and shared memory together. */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "spec/facts.h"
#include "spec/plan.h"
#include "spec/sage-request.h"

#define PROJECT_BYTES_PER_INODE 4096u

/* In bytes: the smaller of disk_mb and max_total_bytes. 0: REQUEST limits nothing. */
uint64_t disk_limit(const struct sage_request *request);

/* A process of a container that is limited by disk_mb must not be able to do without the limit: with CAP_SYS_RESOURCE or CAP_SYS_ADMIN on the
 * host, in whatever set, it could take its files out of the project or change what the project may hold (quotactl(2); a file's project in the
 * host's user namespace: fs/file_attr.c). CODE_CONFIG_INVALID at FIELD.capabilities. For a plan with plan->sage whose ids and namespaces are
 * there. */
int disk_check_process(struct arena *arena, const struct plan_plan *plan, const char *field, const struct facts_facts *facts,
        const struct plan_process *process, struct error *err);

/* May a project limit be relied on for BYTES? What admit() asks about the disk alone, for whoever holds descriptors of what is going to be
 * used and has asked the kernel once more. CODE_RESOURCE_LIMITS_UNSUPPORTED at FIELD with the first thing that is missing. */
int admit_disk(struct arena *arena, const struct facts_facts *facts, uint64_t bytes, const char *field, struct error *err);
