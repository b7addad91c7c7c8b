#include "plan/cgroup_resources.h"

#include "plan/cpu_weight.h"
#include "plan/device_rules.h"

#include <inttypes.h>

struct writer {
        struct arena *arena;
        const char *field; /* "linux.resources" */
        struct error *err;
        struct warnings *warnings;
        struct plan_cgroup_write *list;
        size_t n, room;
};

/* How a number becomes the text of a cgroup file. */
enum format {
        LIMIT,     /* bytes: -1 is "max", 0 is "not set" (as runc has it, because engines write it so) */
        PROTECT,   /* the same for memory.low, where 0 is a value */
        TASKS,     /* -1 is "max"; 0 is 1, since the payload itself is a task and must be cloned into the cgroup (as runc has it) */
        NONE,      /* v2 has no such file: 0 and -1 mean no limit and pass, the rest is refused */
        NEVER,     /* v2 has no such file and every value would mean something */
        MUST_BE_0, /* v2 behaves as if it were 0 */
        MUST_BE_1,
        SPECIAL,   /* looked at by the function that knows its neighbours */
};

struct conversion {
        const char *member;
        enum format format;
        const char *file;
        uint64_t bit;
        size_t offset;
        enum { I64, U64, U16, BOOLEAN } type;
};

#define ROW(object, OBJECT, name, NAME, kind) OBJECT ## _HAS_ ## NAME, offsetof(struct object, name), kind
#define MEMORY(name, NAME, kind) ROW(oci_memory, OCI_MEMORY, name, NAME, kind)
#define CPU(name, NAME, kind) ROW(oci_cpu, OCI_CPU, name, NAME, kind)

static const struct conversion memory_table[] = {
        { "memory.limit", LIMIT, "memory.max", MEMORY(limit, LIMIT, I64) },
        { "memory.swap", SPECIAL, "memory.swap.max", MEMORY(swap, SWAP, I64) },
        { "memory.reservation", PROTECT, "memory.low", MEMORY(reservation, RESERVATION, I64) },
        { "memory.kernel", NONE, NULL, MEMORY(kernel, KERNEL, I64) },
        { "memory.kernelTCP", NONE, NULL, MEMORY(kernel_tcp, KERNEL_TCP, I64) },
        { "memory.swappiness", NEVER, NULL, MEMORY(swappiness, SWAPPINESS, U64) },
        { "memory.disableOOMKiller", MUST_BE_0, NULL, MEMORY(disable_oom_killer, DISABLE_OOM_KILLER, BOOLEAN) },
        { "memory.useHierarchy", MUST_BE_1, NULL, MEMORY(use_hierarchy, USE_HIERARCHY, BOOLEAN) },
        { "memory.checkBeforeUpdate", SPECIAL, NULL, MEMORY(check_before_update, CHECK_BEFORE_UPDATE, BOOLEAN) },
};

static const struct conversion cpu_table[] = {
        { "cpu.idle", SPECIAL, "cpu.idle", CPU(idle, IDLE, I64) },
        { "cpu.shares", SPECIAL, "cpu.weight", CPU(shares, SHARES, U64) },
        { "cpu.quota", SPECIAL, "cpu.max", CPU(quota, QUOTA, I64) },
        { "cpu.period", SPECIAL, "cpu.max", CPU(period, PERIOD, U64) },
        { "cpu.burst", SPECIAL, "cpu.max.burst", CPU(burst, BURST, U64) },
        { "cpu.realtimeRuntime", NONE, NULL, CPU(realtime_runtime, REALTIME_RUNTIME, I64) },
        { "cpu.realtimePeriod", NONE, NULL, CPU(realtime_period, REALTIME_PERIOD, U64) },
};

static const struct conversion pids_table[] = {
        { "pids.limit", TASKS, "pids.max", ROW(oci_pids, OCI_PIDS, limit, LIMIT, I64) },
};

static const struct conversion block_io_table[] = {
        { "blockIO.weight", SPECIAL, "io.bfq.weight", ROW(oci_block_io, OCI_BLOCK_IO, weight, WEIGHT, U16) },
        { "blockIO.leafWeight", NONE, NULL, ROW(oci_block_io, OCI_BLOCK_IO, leaf_weight, LEAF_WEIGHT, U16) },
};

static const char *name_of(struct writer *w, const char *member) {
        return FIELD(w->arena, "%s.%s", w->field, member);
}

__attribute__((format(printf, 4, 5)))
static struct plan_cgroup_write *add(struct writer *w, const char *member, const char *file, const char *format, ...) {
        struct plan_cgroup_write *write;
        char value[64];
        va_list ap;

        if (w->n == w->room) {
                size_t room = w->room ? 2 * w->room : 8;
                struct plan_cgroup_write *list = arena_array(w->arena, struct plan_cgroup_write, room);

                if (w->n)
                        memcpy(list, w->list, w->n * sizeof *list);
                w->list = list;
                w->room = room;
        }
        va_start(ap, format);
        vsnprintf(value, sizeof value, format, ap);
        va_end(ap);
        write = &w->list[w->n++];
        *write = (struct plan_cgroup_write){ .field = name_of(w, member), .file = file, .value = arena_strdup(w->arena, value) };
        return write;
}

static void make_optional(struct plan_cgroup_write *write) {
        write->optional = true;
        write->has |= PLAN_CGROUP_WRITE_HAS_OPTIONAL;
}

static int no_file(struct writer *w, const char *member) {
        return UNSUPPORTED(w->err, name_of(w, member), "cgroup v2 has nothing like it");
}

static int below_minus_one(struct writer *w, const char *member, int64_t value) {
        return INVALID(w->err, name_of(w, member), "expected -1 (no limit) or more, found %" PRId64, value);
}

static int64_t number(const struct conversion *row, const void *object) {
        const char *at = (const char *)object + row->offset;

        switch (row->type) {
        case I64:
                return *(const int64_t *)at;
        case U64: /* the rows that come here only ask whether it is 0 */
                return *(const uint64_t *)at != 0;
        case U16:
                return *(const uint16_t *)at;
        case BOOLEAN:
                return *(const bool *)at;
        }
        return 0;
}

static int convert_one(struct writer *w, const struct conversion *row, int64_t value) {
        switch (row->format) {
        case LIMIT:
        case PROTECT:
        case TASKS:
                if (value < -1)
                        return below_minus_one(w, row->member, value);
                if (value == -1)
                        add(w, row->member, row->file, "max");
                else if (value != 0 || row->format == PROTECT)
                        add(w, row->member, row->file, "%" PRId64, value);
                else if (row->format == TASKS)
                        add(w, row->member, row->file, "1");
                return 0;
        case NONE:
                return value == 0 || (value == -1 && row->type == I64) ? 0 : no_file(w, row->member);
        case NEVER:
                return no_file(w, row->member);
        case MUST_BE_0:
                return value == 0 ? 0 : no_file(w, row->member);
        case MUST_BE_1:
                return value == 1 ? 0 : no_file(w, row->member);
        case SPECIAL:
                return 0;
        }
        return 0;
}

/* The rows whose bit is set. Every generated struct with optional scalars begins with its presence bits. */
static int convert(struct writer *w, const struct conversion *table, size_t n, const void *object) {
        uint64_t has;
        int r;

        memcpy(&has, object, sizeof has);
        for (size_t i = 0; i < n; i++)
                if (has & table[i].bit && (r = convert_one(w, &table[i], number(&table[i], object))) < 0)
                        return r;
        return 0;
}

/* memory.swap is memory and swap together, memory.swap.max is swap alone. -1: no limit; 0: no swap, as crun has it. A host without
 * swap has no such file, and then "0" and "max" are true anyway. */
static int convert_swap(struct writer *w, const struct oci_memory *memory) {
        static const char member[] = "memory.swap";
        bool limited = memory->has & OCI_MEMORY_HAS_LIMIT && memory->limit != 0;

        if (!(memory->has & OCI_MEMORY_HAS_SWAP))
                return 0;
        if (memory->swap < -1)
                return below_minus_one(w, member, memory->swap);
        if (memory->swap <= 0)
                make_optional(add(w, member, "memory.swap.max", memory->swap ? "max" : "0"));
        else if (!limited)
                return INVALID(w->err, name_of(w, member), "counts memory and swap together, so it needs memory.limit");
        else if (memory->limit == -1)
                add(w, member, "memory.swap.max", "%" PRId64, memory->swap);
        else if (memory->swap < memory->limit)
                return INVALID(w->err, name_of(w, member), "counts memory and swap together, so it cannot be below memory.limit, %" PRId64,
                               memory->limit);
        else if (memory->swap == memory->limit)
                make_optional(add(w, member, "memory.swap.max", "0"));
        else
                add(w, member, "memory.swap.max", "%" PRId64, memory->swap - memory->limit);
        return 0;
}

static int convert_memory(struct writer *w, const struct oci_memory *memory, struct plan_cgroup *cgroup) {
        int r;

        if (!memory)
                return 0;
        if ((r = convert(w, memory_table, ELEMENTSOF(memory_table), memory)) < 0 || (r = convert_swap(w, memory)) < 0)
                return r;
        if (memory->check_before_update) {
                cgroup->check_memory = true;
                cgroup->has |= PLAN_CGROUP_HAS_CHECK_MEMORY;
        }
        return 0;
}

/* An idle group has no weight: the kernel answers EINVAL to writing one (sched_group_set_shares). */
static int convert_weight(struct writer *w, const struct oci_cpu *cpu) {
        bool idle = cpu->has & OCI_CPU_HAS_IDLE;

        if (idle && cpu->idle != 0 && cpu->idle != 1)
                return INVALID(w->err, name_of(w, "cpu.idle"), "expected 0 or 1, found %" PRId64, cpu->idle);
        if (idle) /* the file is of Linux 5.15 */
                add(w, "cpu.idle", "cpu.idle", "%" PRId64, cpu->idle);
        if (!(cpu->has & OCI_CPU_HAS_SHARES) || cpu->shares == 0)
                return 0;
        if (idle && cpu->idle == 1)
                warn(w->arena, w->warnings, "%s.cpu.shares: has no effect on an idle group", w->field);
        else
                add(w, "cpu.shares", "cpu.weight", "%" PRIu64, cpu_weight(cpu->shares));
        return 0;
}

/* cpu.max is "QUOTA PERIOD" in one write; without a period the kernel keeps the one it has. Kernel: tg_set_cfs_bandwidth(). */
static int convert_bandwidth(struct writer *w, const struct oci_cpu *cpu) {
        int64_t quota = cpu->has & OCI_CPU_HAS_QUOTA ? cpu->quota : 0;
        uint64_t period = cpu->has & OCI_CPU_HAS_PERIOD ? cpu->period : 0;
        char amount[24] = "max";

        if (quota < -1 || (quota > 0 && quota < 1000))
                return INVALID(w->err, name_of(w, "cpu.quota"), "expected -1 (no limit) or at least 1000 microseconds, found %" PRId64,
                               quota);
        if (period != 0 && (period < 1000 || period > 1000000))
                return INVALID(w->err, name_of(w, "cpu.period"), "expected 1000 to 1000000 microseconds, found %" PRIu64, period);
        if (quota > 0)
                snprintf(amount, sizeof amount, "%" PRId64, quota);
        if (period)
                add(w, quota ? "cpu.quota" : "cpu.period", "cpu.max", "%s %" PRIu64, amount, period);
        else if (quota)
                add(w, "cpu.quota", "cpu.max", "%s", amount);
        if (!(cpu->has & OCI_CPU_HAS_BURST))
                return 0;
        if (quota > 0 && cpu->burst > (uint64_t)quota)
                return INVALID(w->err, name_of(w, "cpu.burst"), "expected at most cpu.quota, %" PRId64 ", found %" PRIu64, quota,
                               cpu->burst);
        add(w, "cpu.burst", "cpu.max.burst", "%" PRIu64, cpu->burst);
        return 0;
}

static int convert_cpu(struct writer *w, const struct oci_cpu *cpu) {
        int r;

        if (!cpu)
                return 0;
        if ((r = convert(w, cpu_table, ELEMENTSOF(cpu_table), cpu)) < 0 || (r = convert_weight(w, cpu)) < 0 ||
            (r = convert_bandwidth(w, cpu)) < 0)
                return r;
        if (cpu->cpus && *cpu->cpus)
                add(w, "cpu.cpus", "cpuset.cpus", "%s", "")->value = cpu->cpus;
        if (cpu->mems && *cpu->mems)
                add(w, "cpu.mems", "cpuset.mems", "%s", "")->value = cpu->mems;
        return 0;
}

/* 10 to 1000 of blkio.bfq.weight on the scale of io.weight, 1 to 10000; io.weight is what there is without the BFQ scheduler. */
static void add_io_weight(struct writer *w, const char *member, const char *device, unsigned weight) {
        struct plan_cgroup_write *write = add(w, member, "io.bfq.weight", "%s%u", device, weight);

        write->else_file = "io.weight";
        write->else_value = FIELD(w->arena, "%s%u", device, 1 + (weight - 10) * 9999 / 990);
}

static int check_io_weight(struct writer *w, const char *member, unsigned weight) {
        if (weight < 10 || weight > 1000)
                return INVALID(w->err, name_of(w, member), "expected 10 to 1000, found %u", weight);
        return 0;
}

static int convert_weight_devices(struct writer *w, const struct oci_block_io *io) {
        for (size_t i = 0; i < io->n_weight_device; i++) {
                const struct oci_weight_device *d = &io->weight_device[i];
                const char *member = FIELD(w->arena, "blockIO.weightDevice[%zu]", i);
                char device[64];
                int r;

                if (d->has & OCI_WEIGHT_DEVICE_HAS_LEAF_WEIGHT && d->leaf_weight)
                        return no_file(w, FIELD(w->arena, "%s.leafWeight", member));
                if (!(d->has & OCI_WEIGHT_DEVICE_HAS_WEIGHT))
                        return INVALID(w->err, name_of(w, member), "expected a weight");
                if ((r = check_io_weight(w, FIELD(w->arena, "%s.weight", member), d->weight)) < 0)
                        return r;
                snprintf(device, sizeof device, "%" PRId64 ":%" PRId64 " ", d->major, d->minor);
                add_io_weight(w, member, device, d->weight);
        }
        return 0;
}

/* One device a write: cgroup-v2.rst, "io.max". */
static void convert_throttle(struct writer *w, const char *member, const char *key, const struct oci_throttle_device *devices, size_t n) {
        for (size_t i = 0; i < n; i++) {
                const char *name = FIELD(w->arena, "blockIO.%s[%zu]", member, i);
                const struct oci_throttle_device *d = &devices[i];

                if (d->rate) /* 0 takes a limit away in v1 */
                        add(w, name, "io.max", "%" PRId64 ":%" PRId64 " %s=%" PRIu64, d->major, d->minor, key, d->rate);
                else
                        add(w, name, "io.max", "%" PRId64 ":%" PRId64 " %s=max", d->major, d->minor, key);
        }
}

static int convert_block_io(struct writer *w, const struct oci_block_io *io) {
        int r;

        if (!io)
                return 0;
        if ((r = convert(w, block_io_table, ELEMENTSOF(block_io_table), io)) < 0)
                return r;
        if (io->has & OCI_BLOCK_IO_HAS_WEIGHT && io->weight != 0) {
                if ((r = check_io_weight(w, "blockIO.weight", io->weight)) < 0)
                        return r;
                add_io_weight(w, "blockIO.weight", "", io->weight);
        }
        if ((r = convert_weight_devices(w, io)) < 0)
                return r;
        convert_throttle(w, "throttleReadBpsDevice", "rbps", io->throttle_read_bps_device, io->n_throttle_read_bps_device);
        convert_throttle(w, "throttleWriteBpsDevice", "wbps", io->throttle_write_bps_device, io->n_throttle_write_bps_device);
        convert_throttle(w, "throttleReadIOPSDevice", "riops", io->throttle_read_iops_device, io->n_throttle_read_iops_device);
        convert_throttle(w, "throttleWriteIOPSDevice", "wiops", io->throttle_write_iops_device, io->n_throttle_write_iops_device);
        return 0;
}

/* As the kernel writes sizes of pages: mm/hugetlb_cgroup.c, mem_fmt(). */
static bool is_unit(const char *text) {
        return streq(text, "KB") || streq(text, "MB") || streq(text, "GB");
}

/* The reservation limit is the better of the two, and an older kernel lacks it (config-linux.md, "Huge page limits"). */
static int convert_hugepages(struct writer *w, const struct oci_hugepage_limit *limits, size_t n) {
        for (size_t i = 0; i < n; i++) {
                const char *member = FIELD(w->arena, "hugepageLimits[%zu]", i), *size = limits[i].page_size ?: "";
                size_t digits = strspn(size, "0123456789");

                if (size[0] == '0' || digits == 0 || digits > 4 || !is_unit(size + digits))
                        return INVALID(w->err, FIELD(w->arena, "%s.%s.pageSize", w->field, member),
                                       "expected a size such as \"2MB\", found \"%s\"", size);
                add(w, member, FIELD(w->arena, "hugetlb.%s.max", size), "%" PRIu64, limits[i].limit);
                make_optional(add(w, member, FIELD(w->arena, "hugetlb.%s.rsvd.max", size), "%" PRIu64, limits[i].limit));
        }
        return 0;
}

static int convert_rdma(struct writer *w, const struct oci_rdma_entry *entries, size_t n) {
        for (size_t i = 0; i < n; i++) {
                const struct oci_rdma *value = &entries[i].value;
                const char *member = FIELD(w->arena, "rdma[\"%s\"]", entries[i].key);
                bool handles = value->has & OCI_RDMA_HAS_HCA_HANDLES, objects = value->has & OCI_RDMA_HAS_HCA_OBJECTS;
                char text[64] = "";
                int at = 0;

                if (!handles && !objects)
                        return INVALID(w->err, name_of(w, member), "expected hcaHandles or hcaObjects");
                if (handles)
                        at = snprintf(text, sizeof text, " hca_handle=%u", value->hca_handles);
                if (objects)
                        snprintf(text + at, sizeof text - (size_t)at, " hca_object=%u", value->hca_objects);
                add(w, member, "rdma.max", "%s", "")->value = FIELD(w->arena, "%s%s", entries[i].key, text);
        }
        return 0;
}

/* Any file of the container's own directory, one write(2) a line. Files that move, end or stop processes are no parameters: frozen, the
 * container could never start. */
static int convert_unified(struct writer *w, const struct string_pair *pairs, size_t n) {
        static const char *const refused[] = {
                "cgroup.procs", "cgroup.threads", "cgroup.kill", "cgroup.freeze", "cgroup.type", "cgroup.subtree_control",
        };

        for (size_t i = 0; i < n; i++) {
                const char *key = pairs[i].key, *line = pairs[i].value;
                const char *member = FIELD(w->arena, "unified[\"%s\"]", key);

                if (strchr(key, '/') || !strchr(key, '.') || key[0] == '.')
                        return INVALID(w->err, name_of(w, member), "expected the name of a cgroup file, such as \"memory.high\"");
                for (size_t k = 0; k < ELEMENTSOF(refused); k++)
                        if (streq(key, refused[k]))
                                return INVALID(w->err, name_of(w, member), "is no parameter of a controller");
                do {
                        size_t length = strcspn(line, "\n");

                        if (length > 0)
                                add(w, member, key, "%s", "")->value = arena_strndup(w->arena, line, length);
                        line += length + (line[length] != '\0');
                } while (*line);
        }
        return 0;
}

static int convert_all(struct writer *w, const struct oci_linux_resources *resources, struct plan_cgroup *cgroup) {
        int r;

        if ((r = convert_memory(w, resources->memory, cgroup)) < 0 || (r = convert_cpu(w, resources->cpu)) < 0 ||
            (resources->pids && (r = convert(w, pids_table, ELEMENTSOF(pids_table), resources->pids)) < 0) ||
            (r = convert_block_io(w, resources->block_io)) < 0)
                return r;
        if ((r = convert_hugepages(w, resources->hugepage_limits, resources->n_hugepage_limits)) < 0)
                return r;
        if (resources->network && resources->network->class_id)
                return no_file(w, "network.classID");
        if (resources->network && resources->network->n_priorities)
                return no_file(w, "network.priorities");
        if ((r = convert_rdma(w, resources->rdma, resources->n_rdma)) < 0)
                return r;
        return convert_unified(w, resources->unified, resources->n_unified); /* last, so that it overrules what was converted */
}

static bool is_listed(const char *const *names, size_t n, const char *file, size_t length) {
        /* There are about ten controllers; a list that is longer comes from unified, which is sorted, so its last is the one to look at. */
        for (size_t i = 0; i < n; i = i == 15 && n > 16 ? n - 1 : i + 1)
                if (strncmp(names[i], file, length) == 0 && names[i][length] == '\0')
                        return true;
        return false;
}

/* The controller of a file is what its name begins with, but for the core's own files. "No limit" needs none: engines write -1 for what
 * nobody asked for, and where the controller is missing nothing is limited. */
static void list_controllers(struct arena *arena, struct plan_cgroup *cgroup) {
        const char **names = arena_array(arena, const char *, cgroup->n_writes + 1);
        size_t n = 0;

        for (size_t i = 0; i < cgroup->n_writes; i++) {
                const char *file = cgroup->writes[i].file;
                size_t length = strcspn(file, ".");

                if (cgroup_write_is_nothing(&cgroup->writes[i]))
                        make_optional(&cgroup->writes[i]);
                else if ((length != 6 || memcmp(file, "cgroup", 6) != 0) && !is_listed(names, n, file, length))
                        names[n++] = arena_strndup(arena, file, length);
        }
        cgroup->controllers = n ? names : NULL;
        cgroup->n_controllers = n;
}

int cgroup_resources(struct arena *arena, const struct oci_linux_resources *resources, const char *field, struct plan_cgroup *cgroup,
                     struct warnings *warnings, struct error *err) {
        /* What `events`, `ps` and the engines' stats read, whether or not it is limited. */
        static const char *accounting[] = { "cpu", "io", "memory", "pids", NULL };
        struct writer w = { .arena = arena, .field = field, .err = err, .warnings = warnings };
        int r;

        if (resources && (r = convert_all(&w, resources, cgroup)) < 0)
                return r;
        cgroup->writes = w.list;
        cgroup->n_writes = w.n;
        list_controllers(arena, cgroup);
        cgroup->accounting = accounting;
        cgroup->n_accounting = ELEMENTSOF(accounting) - 1;
        return 0;
}

int compile_resources(struct arena *arena, const struct oci_linux_resources *resources, const char *field, struct plan_cgroup *cgroup,
                      struct error *err) {
        struct warnings warnings = { 0 };
        int r = cgroup_resources(arena, resources, field, cgroup, &warnings, err);

        if (r < 0)
                return r;
        if (resources && resources->n_devices)
                return device_rules_compile(arena, resources->devices, resources->n_devices, NULL, 0, field, cgroup, err);
        return 0;
}
