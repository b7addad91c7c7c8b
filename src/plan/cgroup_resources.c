#include "plan/cgroup_resources.h"

#include "plan/cgroup_writer.h"
#include "plan/cpu_list.h"
#include "plan/cpu_weight.h"
#include "plan/device_rules.h"

#include <inttypes.h>

#define MEMORY(name, NAME, kind) CGROUP_ROW(oci_memory, OCI_MEMORY, name, NAME, kind)
#define CPU(name, NAME, kind) CGROUP_ROW(oci_cpu, OCI_CPU, name, NAME, kind)

static const struct cgroup_conversion memory_table[] = {
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

static const struct cgroup_conversion cpu_table[] = {
        { "cpu.idle", SPECIAL, "cpu.idle", CPU(idle, IDLE, I64) },
        { "cpu.shares", SPECIAL, "cpu.weight", CPU(shares, SHARES, U64) },
        { "cpu.quota", SPECIAL, "cpu.max", CPU(quota, QUOTA, I64) },
        { "cpu.period", SPECIAL, "cpu.max", CPU(period, PERIOD, U64) },
        { "cpu.burst", SPECIAL, "cpu.max.burst", CPU(burst, BURST, U64) },
        { "cpu.realtimeRuntime", NONE, NULL, CPU(realtime_runtime, REALTIME_RUNTIME, I64) },
        { "cpu.realtimePeriod", NONE, NULL, CPU(realtime_period, REALTIME_PERIOD, U64) },
};

static const struct cgroup_conversion pids_table[] = {
        { "pids.limit", TASKS, "pids.max", CGROUP_ROW(oci_pids, OCI_PIDS, limit, LIMIT, I64) },
};

/* memory.swap is memory and swap together, memory.swap.max is swap alone. -1: no limit; 0: no swap, as crun has it. A host without
 * swap has no such file, and then "0" and "max" are true anyway. */
static int convert_swap(struct cgroup_writer *w, const struct oci_memory *memory) {
        static const char member[] = "memory.swap";
        bool limited = memory->has & OCI_MEMORY_HAS_LIMIT && memory->limit != 0;

        if (!(memory->has & OCI_MEMORY_HAS_SWAP))
                return 0;
        if (memory->swap < -1)
                return cgroup_below_minus_one(w, member, memory->swap);
        if (memory->swap <= 0)
                cgroup_write_optional(cgroup_write(w, member, "memory.swap.max", memory->swap ? "max" : "0"));
        else if (!limited)
                return INVALID(w->err, cgroup_field(w, member), "counts memory and swap together, so it needs memory.limit");
        else if (memory->limit == -1)
                cgroup_write(w, member, "memory.swap.max", "%" PRId64, memory->swap);
        else if (memory->swap < memory->limit)
                return INVALID(w->err, cgroup_field(w, member),
                        "counts memory and swap together, so it cannot be below memory.limit, %" PRId64, memory->limit);
        else if (memory->swap == memory->limit)
                cgroup_write_optional(cgroup_write(w, member, "memory.swap.max", "0"));
        else
                cgroup_write(w, member, "memory.swap.max", "%" PRId64, memory->swap - memory->limit);
        return 0;
}

static int convert_memory(struct cgroup_writer *w, const struct oci_memory *memory, struct plan_cgroup *cgroup) {
        int r;

        if (!memory)
                return 0;
        if ((r = cgroup_convert(w, memory_table, ELEMENTSOF(memory_table), memory)) < 0 || (r = convert_swap(w, memory)) < 0)
                return r;
        if (memory->check_before_update) {
                cgroup->check_memory = true;
                cgroup->has |= PLAN_CGROUP_HAS_CHECK_MEMORY;
        }
        return 0;
}

/* An idle group has no weight: the kernel answers EINVAL to writing one (sched_group_set_shares). */
static int convert_weight(struct cgroup_writer *w, const struct oci_cpu *cpu) {
        bool idle = cpu->has & OCI_CPU_HAS_IDLE;

        if (idle && cpu->idle != 0 && cpu->idle != 1)
                return INVALID(w->err, cgroup_field(w, "cpu.idle"), "expected 0 or 1, found %" PRId64, cpu->idle);
        if (idle) /* the file is of Linux 5.15 */
                cgroup_write(w, "cpu.idle", "cpu.idle", "%" PRId64, cpu->idle);
        if (!(cpu->has & OCI_CPU_HAS_SHARES) || cpu->shares == 0)
                return 0;
        if (idle && cpu->idle == 1)
                warn(w->arena, w->warnings, "%s.cpu.shares: has no effect on an idle group", w->field);
        else
                cgroup_write(w, "cpu.shares", "cpu.weight", "%" PRIu64, cpu_weight(cpu->shares));
        return 0;
}

/* cpu.max is "QUOTA PERIOD" in one write; without a period the kernel keeps the one it has. Kernel: tg_set_cfs_bandwidth(). */
static int convert_bandwidth(struct cgroup_writer *w, const struct oci_cpu *cpu) {
        int64_t quota = cpu->has & OCI_CPU_HAS_QUOTA ? cpu->quota : 0;
        uint64_t period = cpu->has & OCI_CPU_HAS_PERIOD ? cpu->period : 0;
        char amount[24] = "max";

        if (quota < -1 || (quota > 0 && quota < 1000))
                return INVALID(w->err, cgroup_field(w, "cpu.quota"), "expected -1 (no limit) or at least 1000 microseconds, found %" PRId64,
                        quota);
        if (period != 0 && (period < 1000 || period > 1000000))
                return INVALID(w->err, cgroup_field(w, "cpu.period"), "expected 1000 to 1000000 microseconds, found %" PRIu64, period);
        if (quota > 0)
                snprintf(amount, sizeof amount, "%" PRId64, quota);
        if (period)
                cgroup_write(w, quota ? "cpu.quota" : "cpu.period", "cpu.max", "%s %" PRIu64, amount, period);
        else if (quota)
                cgroup_write(w, "cpu.quota", "cpu.max", "%s", amount);
        if (!(cpu->has & OCI_CPU_HAS_BURST))
                return 0;
        if (quota > 0 && cpu->burst > (uint64_t)quota)
                return INVALID(
                        w->err, cgroup_field(w, "cpu.burst"), "expected at most cpu.quota, %" PRId64 ", found %" PRIu64, quota, cpu->burst);
        cgroup_write(w, "cpu.burst", "cpu.max.burst", "%" PRIu64, cpu->burst);
        return 0;
}

/* LIST goes into the file as it is, once it is known to be one and nothing more. */
static int convert_list(struct cgroup_writer *w, const char *member, const char *file, const char *list) {
        struct plan_range *ranges;
        size_t n;
        int r;

        if (!list || !*list)
                return 0;
        if ((r = cpu_list_parse(w->arena, list, CPU_LIST_MAX, cgroup_field(w, member), &ranges, &n, w->err)) < 0)
                return r;
        cgroup_write(w, member, file, "%s", "")->value = list;
        return 0;
}

static int convert_cpu(struct cgroup_writer *w, const struct oci_cpu *cpu) {
        int r;

        if (!cpu)
                return 0;
        if ((r = cgroup_convert(w, cpu_table, ELEMENTSOF(cpu_table), cpu)) < 0 || (r = convert_weight(w, cpu)) < 0 ||
                (r = convert_bandwidth(w, cpu)) < 0 || (r = convert_list(w, "cpu.cpus", "cpuset.cpus", cpu->cpus)) < 0)
                return r;
        return convert_list(w, "cpu.mems", "cpuset.mems", cpu->mems);
}

/* As the kernel writes sizes of pages: mm/hugetlb_cgroup.c, mem_fmt(). */
static bool is_unit(const char *text) {
        return streq(text, "KB") || streq(text, "MB") || streq(text, "GB");
}

/* The reservation limit is the better of the two, and an older kernel lacks it (config-linux.md, "Huge page limits"). */
static int convert_hugepages(struct cgroup_writer *w, const struct oci_hugepage_limit *limits, size_t n) {
        for (size_t i = 0; i < n; i++) {
                const char *member = FIELD(w->arena, "hugepageLimits[%zu]", i), *size = limits[i].page_size ?: "";
                size_t digits = strspn(size, "0123456789");

                if (size[0] == '0' || digits == 0 || digits > 4 || !is_unit(size + digits))
                        return INVALID(w->err, FIELD(w->arena, "%s.%s.pageSize", w->field, member),
                                "expected a size such as \"2MB\", found \"%s\"", size);
                cgroup_write(w, member, FIELD(w->arena, "hugetlb.%s.max", size), "%" PRIu64, limits[i].limit);
                cgroup_write_optional(cgroup_write(w, member, FIELD(w->arena, "hugetlb.%s.rsvd.max", size), "%" PRIu64, limits[i].limit));
        }
        return 0;
}

static int convert_rdma(struct cgroup_writer *w, const struct oci_rdma_entry *entries, size_t n) {
        for (size_t i = 0; i < n; i++) {
                const struct oci_rdma *value = &entries[i].value;
                const char *member = FIELD(w->arena, "rdma[\"%s\"]", entries[i].key);
                bool handles = value->has & OCI_RDMA_HAS_HCA_HANDLES, objects = value->has & OCI_RDMA_HAS_HCA_OBJECTS;
                char text[64] = "";
                int at = 0;

                if (!entries[i].key[0] || entries[i].key[strcspn(entries[i].key, " \t\n")])
                        return INVALID(w->err, cgroup_field(w, member), "expected the name of a device, such as \"mlx5_0\"");
                if (!handles && !objects)
                        return INVALID(w->err, cgroup_field(w, member), "expected hcaHandles or hcaObjects");
                if (handles)
                        at = snprintf(text, sizeof text, " hca_handle=%u", value->hca_handles);
                if (objects)
                        snprintf(text + at, sizeof text - (size_t)at, " hca_object=%u", value->hca_objects);
                cgroup_write(w, member, "rdma.max", "%s", "")->value = FIELD(w->arena, "%s%s", entries[i].key, text);
        }
        return 0;
}

/* Any file of the container's own directory, one write(2) a line. Files that move, end or stop processes are no parameters: frozen, the
 * container could never start. */
static int convert_unified(struct cgroup_writer *w, const struct string_pair *pairs, size_t n) {
        static const char *const refused[] = { "cgroup.procs", "cgroup.threads", "cgroup.kill", "cgroup.freeze", "cgroup.type",
                "cgroup.subtree_control" };

        for (size_t i = 0; i < n; i++) {
                const char *key = pairs[i].key, *line = pairs[i].value;
                const char *member = FIELD(w->arena, "unified[\"%s\"]", key);

                if (strchr(key, '/') || !strchr(key, '.') || key[0] == '.')
                        return INVALID(w->err, cgroup_field(w, member), "expected the name of a cgroup file, such as \"memory.high\"");
                for (size_t k = 0; k < ELEMENTSOF(refused); k++)
                        if (streq(key, refused[k]))
                                return INVALID(w->err, cgroup_field(w, member), "is no parameter of a controller");
                do {
                        size_t length = strcspn(line, "\n");

                        if (length > 0)
                                cgroup_write(w, member, key, "%s", "")->value = arena_strndup(w->arena, line, length);
                        line += length + (line[length] != '\0');
                } while (*line);
        }
        return 0;
}

static int convert_all(struct cgroup_writer *w, const struct oci_linux_resources *resources, struct plan_cgroup *cgroup) {
        int r;

        if ((r = convert_memory(w, resources->memory, cgroup)) < 0 || (r = convert_cpu(w, resources->cpu)) < 0 ||
                (resources->pids && (r = cgroup_convert(w, pids_table, ELEMENTSOF(pids_table), resources->pids)) < 0) ||
                (r = cgroup_convert_block_io(w, resources->block_io)) < 0)
                return r;
        if ((r = convert_hugepages(w, resources->hugepage_limits, resources->n_hugepage_limits)) < 0)
                return r;
        if (resources->network && resources->network->class_id)
                return cgroup_no_file(w, "network.classID");
        if (resources->network && resources->network->n_priorities)
                return cgroup_no_file(w, "network.priorities");
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
                        cgroup_write_optional(&cgroup->writes[i]);
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
        struct cgroup_writer w = { .arena = arena, .field = field, .err = err, .warnings = warnings };
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
