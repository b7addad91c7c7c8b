/* The limit on what a sandbox may keep on disk: workspace, temporary files and shared memory together. */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "spec/facts.h"
#include "spec/sage-request.h"

#define PROJECT_BYTES_PER_INODE 4096u

/* In bytes: the smaller of disk_mb and max_total_bytes. 0: REQUEST limits nothing. */
uint64_t disk_limit(const struct sage_request *request);

/* May a project limit be relied on for BYTES? What admit() asks about the disk alone, for whoever holds descriptors of what is going to be
 * used and has asked the kernel once more. CODE_RESOURCE_LIMITS_UNSUPPORTED at FIELD with the first thing that is missing. */
int admit_disk(struct arena *arena, const struct facts_facts *facts, uint64_t bytes, const char *field, struct error *err);
