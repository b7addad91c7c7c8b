/* The options of update, as the resources of config.json. */
#pragma once

#include "cmd/options.h"
#include "spec/config.h"

struct update_options {
        const char *resources;
        const char *blkio_weight, *pids_limit;
        const char *cpu_period, *cpu_quota, *cpu_shares, *cpu_rt_period, *cpu_rt_runtime, *cpu_burst, *cpu_idle, *cpuset_cpus, *cpuset_mems;
        const char *memory, *memory_reservation, *memory_swap, *kernel_memory, *kernel_memory_tcp;
        const char *l3_cache_schema, *mem_bw_schema;
};

/* Sets in RESOURCES what the options say; *RET_N is how many do. What they do not say stays. The two schemas are no resources. */
int update_options_apply(struct arena *arena, const struct update_options *options, struct oci_linux_resources *resources, unsigned *ret_n,
                         struct error *err);

/* A number of bytes, -1 for no limit; "64m", "64M", "64MB" and "64MiB" are 64 << 20. 0 or -EINVAL. */
int update_parse_bytes(const char *text, int64_t *ret);
