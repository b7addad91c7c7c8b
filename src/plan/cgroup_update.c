#include "plan/cgroup_update.h"

#include "plan/device_rules.h"

static const char field[] = "linux.resources";

/* ---- what the caller left out ------------------------------------------------------------------------------------------ */

/* The last value that the plan writes to FILE, or NULL. */
static const char *value_of(const struct plan_cgroup *cgroup, const char *file) {
        for (size_t i = cgroup->n_writes; i > 0; i--)
                if (streq(cgroup->writes[i - 1].file, file))
                        return cgroup->writes[i - 1].value;
        return NULL;
}

/* "max" is -1, as in config.json. */
static bool read_limit(struct arena *arena, const char *word, size_t length, int64_t *ret) {
        const char *text = arena_strndup(arena, word, length);

        if (streq(text, "max")) {
                *ret = -1;
                return true;
        }
        return str_to_i64(text, ret) == 0;
}

/* cpu.max is "QUOTA PERIOD", and a write of the one sets the other, too. */
static struct oci_cpu *complete_cpu(struct arena *arena, const struct oci_cpu *asked, const struct plan_cgroup *kept) {
        bool quota = asked->has & OCI_CPU_HAS_QUOTA && asked->quota, period = asked->has & OCI_CPU_HAS_PERIOD && asked->period;
        const char *old = value_of(kept, "cpu.max"), *rest;
        struct oci_cpu *cpu = arena_new(arena, struct oci_cpu);
        uint64_t number;

        *cpu = *asked;
        if (!old || quota == period)
                return cpu;
        rest = old + strcspn(old, " ");
        if (!quota && read_limit(arena, old, (size_t)(rest - old), &cpu->quota))
                cpu->has |= OCI_CPU_HAS_QUOTA;
        if (!period && *rest && str_to_u64(rest + 1, UINT64_MAX, &number) == 0) {
                cpu->period = number;
                cpu->has |= OCI_CPU_HAS_PERIOD;
        }
        return cpu;
}

/* memory.swap counts memory in, so without its limit it says nothing. */
static struct oci_memory *complete_memory(struct arena *arena, const struct oci_memory *asked, const struct plan_cgroup *kept) {
        struct oci_memory *memory = arena_new(arena, struct oci_memory);
        const char *old = value_of(kept, "memory.max");

        *memory = *asked;
        if (old && asked->has & OCI_MEMORY_HAS_SWAP && asked->swap > 0 && !(asked->has & OCI_MEMORY_HAS_LIMIT && asked->limit) &&
                read_limit(arena, old, strlen(old), &memory->limit))
                memory->has |= OCI_MEMORY_HAS_LIMIT;
        if (!(asked->has & OCI_MEMORY_HAS_CHECK_BEFORE_UPDATE) && kept->check_memory) {
                memory->check_before_update = true;
                memory->has |= OCI_MEMORY_HAS_CHECK_BEFORE_UPDATE;
        }
        return memory;
}

/* ---- devices ------------------------------------------------------------------------------------------------------------ */

static bool is_same_rule(const struct plan_device_rule *a, const struct plan_device_rule *b) {
        return a->allow == b->allow && a->type == b->type && a->access == b->access && a->has == b->has && a->major == b->major &&
                a->minor == b->minor;
}

/* The rules that are asked for take the place of all that there are. UPDATE says nothing of devices when they are the same: engines send
 * what the container was made with whatever they change. */
static int compile_devices(struct arena *arena, const struct oci_linux_resources *resources, const struct plan_plan *plan,
        const struct facts_identity *identity, struct plan_cgroup *update, struct error *err) {
        const struct plan_cgroup *kept = plan->cgroup;
        struct plan_cgroup asked = { 0 };
        bool same;
        int r;

        if (resources->n_devices == 0)
                return 0;
        r = device_rules_compile(arena, resources->devices, resources->n_devices, NULL, 0, field, &asked, err);
        if (r < 0)
                return r;
        same = asked.limit_devices == kept->limit_devices && asked.n_devices == kept->n_devices;
        for (size_t i = 0; same && i < asked.n_devices; i++)
                same = is_same_rule(&asked.devices[i], &kept->devices[i]);
        if (same || device_rules_useless(identity, plan))
                return 0;
        update->devices = asked.devices;
        update->n_devices = asked.n_devices;
        update->limit_devices = asked.limit_devices;
        update->has |= PLAN_CGROUP_HAS_LIMIT_DEVICES;
        return 0;
}

/* ---- what becomes of the plan ------------------------------------------------------------------------------------------- */

/* Of the files with a line a device, how much of a value names what is set: "8:0 rbps" of "8:0 rbps=5", "8:0" of "8:0 100". */
static size_t key_length(const struct plan_cgroup_write *write) {
        const char *end;

        if (!str_after(write->file, "io.") && !streq(write->file, "rdma.max"))
                return 0;
        end = strchr(write->value, '=');
        if (!end)
                end = strrchr(write->value, ' ');
        return end ? (size_t)(end - write->value) : 0;
}

static bool is_replaced(const struct plan_cgroup_write *old, const struct plan_cgroup *update) {
        size_t length = key_length(old);

        for (size_t i = 0; i < update->n_writes; i++) {
                const struct plan_cgroup_write *new = &update->writes[i];

                if (streq(old->file, new->file) && key_length(new) == length && strncmp(old->value, new->value, length) == 0)
                        return true;
        }
        return false;
}

static bool is_listed(const char *const *names, size_t n, const char *name) {
        for (size_t i = 0; i < n; i++)
                if (streq(names[i], name))
                        return true;
        return false;
}

static struct plan_cgroup *merge(struct arena *arena, const struct plan_cgroup *old, const struct plan_cgroup *update) {
        struct plan_cgroup *kept = arena_new(arena, struct plan_cgroup);

        *kept = *old;
        if (update->has & PLAN_CGROUP_HAS_LIMIT_DEVICES) {
                kept->devices = update->devices;
                kept->n_devices = update->n_devices;
                kept->limit_devices = update->limit_devices;
                kept->has |= PLAN_CGROUP_HAS_LIMIT_DEVICES;
        }
        kept->writes = arena_array(arena, struct plan_cgroup_write, old->n_writes + update->n_writes + 1);
        kept->n_writes = 0;
        for (size_t i = 0; i < old->n_writes; i++)
                if (!is_replaced(&old->writes[i], update))
                        kept->writes[kept->n_writes++] = old->writes[i];
        for (size_t i = 0; i < update->n_writes; i++)
                kept->writes[kept->n_writes++] = update->writes[i];

        kept->controllers = arena_array(arena, const char *, old->n_controllers + update->n_controllers + 1);
        for (size_t i = 0; i < old->n_controllers; i++)
                kept->controllers[i] = old->controllers[i];
        for (size_t i = 0; i < update->n_controllers; i++)
                if (!is_listed(kept->controllers, kept->n_controllers, update->controllers[i]))
                        kept->controllers[kept->n_controllers++] = update->controllers[i];
        return kept;
}

int cgroup_update_compile(struct arena *arena, const struct oci_linux_resources *resources, const struct plan_plan *plan,
        const struct facts_identity *identity, struct plan_cgroup **ret_update, struct plan_cgroup **ret_kept, struct error *err) {
        struct plan_cgroup *update = arena_new(arena, struct plan_cgroup);
        struct oci_linux_resources complete = *resources;
        int r;

        complete.devices = NULL;
        complete.n_devices = 0;
        if (resources->cpu)
                complete.cpu = complete_cpu(arena, resources->cpu, plan->cgroup);
        if (resources->memory)
                complete.memory = complete_memory(arena, resources->memory, plan->cgroup);
        if ((r = compile_resources(arena, &complete, field, update, err)) < 0 ||
                (r = compile_devices(arena, resources, plan, identity, update, err)) < 0)
                return r;
        update->accounting = NULL; /* settled when the container was made */
        update->n_accounting = 0;
        *ret_kept = merge(arena, plan->cgroup, update);
        *ret_update = update;
        return 0;
}
