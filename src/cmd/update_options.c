#include "cmd/update_options.h"

#include <errno.h>
#include <strings.h>

#include "base/str.h"

enum object { MEMORY, CPU, PIDS, BLOCK_IO };
enum type { BYTES, SIGNED, UNSIGNED, SMALL, TEXT };

struct setting {
        const char *option;
        size_t offset; /* in struct update_options */
        enum object object;
        enum type type;
        uint64_t bit; /* of the object, 0 for a text */
        size_t member;
};

#define OPTION(name, member) "--" name, offsetof(struct update_options, member)
#define IN(OBJECT, TYPE, object, member, NAME) OBJECT, TYPE, OCI_##OBJECT##_HAS_##NAME, offsetof(struct object, member)

static const struct setting settings[] = {
        { OPTION("blkio-weight", blkio_weight), IN(BLOCK_IO, SMALL, oci_block_io, weight, WEIGHT) },
        { OPTION("cpu-period", cpu_period), IN(CPU, UNSIGNED, oci_cpu, period, PERIOD) },
        { OPTION("cpu-quota", cpu_quota), IN(CPU, SIGNED, oci_cpu, quota, QUOTA) },
        { OPTION("cpu-shares", cpu_shares), IN(CPU, UNSIGNED, oci_cpu, shares, SHARES) },
        { OPTION("cpu-rt-period", cpu_rt_period), IN(CPU, UNSIGNED, oci_cpu, realtime_period, REALTIME_PERIOD) },
        { OPTION("cpu-rt-runtime", cpu_rt_runtime), IN(CPU, SIGNED, oci_cpu, realtime_runtime, REALTIME_RUNTIME) },
        { OPTION("cpu-burst", cpu_burst), IN(CPU, UNSIGNED, oci_cpu, burst, BURST) },
        { OPTION("cpu-idle", cpu_idle), IN(CPU, SIGNED, oci_cpu, idle, IDLE) },
        { OPTION("cpuset-cpus", cpuset_cpus), CPU, TEXT, 0, offsetof(struct oci_cpu, cpus) },
        { OPTION("cpuset-mems", cpuset_mems), CPU, TEXT, 0, offsetof(struct oci_cpu, mems) },
        { OPTION("kernel-memory", kernel_memory), IN(MEMORY, BYTES, oci_memory, kernel, KERNEL) },
        { OPTION("kernel-memory-tcp", kernel_memory_tcp), IN(MEMORY, BYTES, oci_memory, kernel_tcp, KERNEL_TCP) },
        { OPTION("memory", memory), IN(MEMORY, BYTES, oci_memory, limit, LIMIT) },
        { OPTION("memory-reservation", memory_reservation), IN(MEMORY, BYTES, oci_memory, reservation, RESERVATION) },
        { OPTION("memory-swap", memory_swap), IN(MEMORY, BYTES, oci_memory, swap, SWAP) },
        { OPTION("pids-limit", pids_limit), IN(PIDS, SIGNED, oci_pids, limit, LIMIT) },
};

int update_parse_bytes(const char *text, int64_t *ret) {
        static const char units[] = "kmgtp";
        size_t digits = strspn(text, "0123456789");
        const char *unit = text + digits, *found;
        uint64_t number, shift = 0;
        char copy[24];

        if (streq(text, "-1")) {
                *ret = -1;
                return 0;
        }
        if (digits == 0 || digits >= sizeof copy)
                return -EINVAL;
        memcpy(copy, text, digits);
        copy[digits] = '\0';
        if (str_to_u64(copy, INT64_MAX, &number) < 0)
                return -EINVAL;
        found = *unit ? strchr(units, *unit | 0x20) : NULL;
        if (found) {
                shift = 10 * (uint64_t)(found - units + 1);
                unit++;
        }
        if (*unit && strcasecmp(unit, "b") != 0 && (!found || strcasecmp(unit, "ib") != 0))
                return -EINVAL;
        if (number > (uint64_t)INT64_MAX >> shift)
                return -EINVAL;
        *ret = (int64_t)(number << shift);
        return 0;
}

/* The struct that a setting belongs to, made where it is not there yet. */
static void *object_of(struct arena *arena, enum object object, struct oci_linux_resources *resources) {
        switch (object) {
        case MEMORY:
                return resources->memory = resources->memory ?: arena_new(arena, struct oci_memory);
        case CPU:
                return resources->cpu = resources->cpu ?: arena_new(arena, struct oci_cpu);
        case PIDS:
                return resources->pids = resources->pids ?: arena_new(arena, struct oci_pids);
        case BLOCK_IO:
                return resources->block_io = resources->block_io ?: arena_new(arena, struct oci_block_io);
        }
        return NULL;
}

static int set(enum type type, const char *option, const char *value, void *at, struct error *err) {
        uint64_t number;
        int r = 0;

        switch (type) {
        case BYTES:
                if (update_parse_bytes(value, at) < 0)
                        return fail(err, CODE_USAGE, EINVAL, option, "expected -1 or a number of bytes, such as 512m, found `%s`", value);
                return 0;
        case SIGNED:
                r = str_to_i64(value, at);
                break;
        case UNSIGNED:
                r = str_to_u64(value, UINT64_MAX, at);
                break;
        case SMALL:
                r = str_to_u64(value, UINT16_MAX, &number);
                if (r == 0)
                        *(uint16_t *)at = (uint16_t)number;
                break;
        case TEXT:
                *(const char **)at = value;
                break;
        }
        return r < 0 ? fail(err, CODE_USAGE, EINVAL, option, "expected a number that fits, found `%s`", value) : 0;
}

int update_options_apply(struct arena *arena, const struct update_options *options, struct oci_linux_resources *resources, unsigned *ret_n,
        struct error *err) {
        unsigned n = 0;
        int r;

        for (size_t i = 0; i < ELEMENTSOF(settings); i++) {
                const struct setting *s = &settings[i];
                const char *value;
                char *object;

                memcpy(&value, (const char *)options + s->offset, sizeof value);
                if (!value)
                        continue;
                object = object_of(arena, s->object, resources);
                if ((r = set(s->type, s->option, value, object + s->member, err)) < 0)
                        return r;
                *(uint64_t *)object |= s->bit; /* every struct with optional numbers begins with its presence bits */
                n++;
        }
        *ret_n = n;
        return 0;
}
