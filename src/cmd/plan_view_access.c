/* What a container can read, write and reach. */
#define _GNU_SOURCE
#include "cmd/plan_view.h"

#include <linux/bpf.h>
#include <linux/sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "cmd/plan_view_text.h"

static bool mount_read_only(const struct plan_mount *m) {
        if (m->recursive_set & MOUNT_ATTR_RDONLY)
                return true;
        switch (m->kind) {
        case PLAN_MOUNT_KIND_FILESYSTEM:
        case PLAN_MOUNT_KIND_CGROUP:
        case PLAN_MOUNT_KIND_SYSFS_OR_BIND:
                return m->flags & MS_RDONLY;
        case PLAN_MOUNT_KIND_BIND:
        case PLAN_MOUNT_KIND_PIN:
                return m->attributes_set & MOUNT_ATTR_RDONLY;
        case PLAN_MOUNT_KIND_FILE:
        case PLAN_MOUNT_KIND_SYMLINK:
                return true;
        }
        return false;
}

/* "ro" on a mount says nothing of what is mounted below it. */
static bool below_writable(const struct plan_mount *m) {
        return m->kind == PLAN_MOUNT_KIND_BIND && m->recursive && !(m->recursive_set & MOUNT_ATTR_RDONLY);
}

static const char *const remarks[] = {
        [PLAN_MOUNT_KIND_CGROUP] = "its own cgroup",
        [PLAN_MOUNT_KIND_FILE] = "made for it",
        [PLAN_MOUNT_KIND_PIN] = "cannot be renamed or removed",
        [PLAN_MOUNT_KIND_SYMLINK] = NULL,
};

static void view_mount(struct str *out, const struct plan_mount *m, const char *more) {
        _cleanup_str_ struct str remark = { 0 };

        if (m->has & PLAN_MOUNT_HAS_SCRATCH)
                str_puts(&remark, "its own, in the project of the workspace");
        else if (m->kind == PLAN_MOUNT_KIND_BIND)
                str_printf(&remark, "the host's %s%s", m->source, m->recursive ? " with the mounts below it" : "");
        else if (m->kind == PLAN_MOUNT_KIND_SYMLINK)
                str_printf(&remark, "a symlink to %s", m->source);
        else
                str_printf(&remark, "%s", remarks[m->kind] ?: m->type ?: "");
        if (more)
                str_puts(&remark, more);
        view_item(out, m->destination, remark.text);
}

/* Several paths a line. */
static void view_paths(struct str *out, const char *const *paths, size_t n, const char *remark) {
        size_t begin = out->size;

        for (size_t i = 0; i < n; i++) {
                if (i && out->size - begin + strlen(paths[i]) > 100) {
                        str_putc(out, '\n');
                        begin = out->size;
                }
                str_puts(out, out->size == begin ? "  " : " ");
                view_put(out, paths[i]);
        }
        if (n)
                str_printf(out, "  (%s)\n", remark);
}

void plan_view_readable(struct str *out, const struct plan_plan *plan) {
        view_heading(out, "Readable (besides what is writable)");
        if (plan->rootfs->readonly)
                view_item(out, "/", plan->rootfs->empty ? "empty but for what follows" : plan->rootfs->path);
        for (size_t i = 0; i < plan->n_mounts; i++)
                if (mount_read_only(&plan->mounts[i]))
                        view_mount(out, &plan->mounts[i], below_writable(&plan->mounts[i]) ? "; mounts below keep their own mode" : NULL);
        view_paths(out, plan->readonly_paths, plan->n_readonly_paths, "made read-only");
        view_paths(out, plan->masked_paths, plan->n_masked_paths, "covered: nothing to see");
}

static void view_device(struct str *out, const struct plan_device *device) {
        char remark[64] = "pipe";

        if (device->type != S_IFIFO)
                snprintf(remark, sizeof remark, "%s device %u:%u", device->type == S_IFBLK ? "block" : "character", device->major,
                        device->minor);
        view_item(out, device->path, remark);
}

void plan_view_writable(struct str *out, const struct plan_plan *plan) {
        view_heading(out, "Writable");
        if (!plan->rootfs->readonly)
                view_item(out, "/", plan->rootfs->path);
        for (size_t i = 0; i < plan->n_mounts; i++)
                if (!mount_read_only(&plan->mounts[i]))
                        view_mount(out, &plan->mounts[i], NULL);
        for (size_t i = 0; i < plan->n_devices; i++)
                if (plan->devices[i].field) /* the others every container has */
                        view_device(out, &plan->devices[i]);
}

static const char *joined(const struct plan_plan *plan, uint64_t flag) {
        for (size_t i = 0; i < plan->namespaces->n_join; i++)
                if (plan->namespaces->join[i].flag == flag)
                        return plan->namespaces->join[i].path;
        return NULL;
}

static void put_number(struct str *out, bool given, uint32_t number) {
        if (given)
                str_printf(out, "%u", number);
        else
                str_putc(out, '*');
}

/* A later rule for the same devices takes all of this one's place. */
static bool is_overruled(const struct plan_device_rule *rule, const struct plan_device_rule *end) {
        for (const struct plan_device_rule *later = rule + 1; later < end; later++)
                if (later->has == rule->has && later->type == rule->type && later->major == rule->major && later->minor == rule->minor &&
                        (later->access & rule->access) == rule->access)
                        return true;
        return false;
}

static const char *letter_of(uint32_t type) {
        if (type == BPF_DEVCG_DEV_CHAR)
                return "c ";
        return type == BPF_DEVCG_DEV_BLOCK ? "b " : "";
}

/* Devices that may be opened; that nodes of the others may be made is nothing that they do. */
static void view_device_rules(struct str *out, const struct plan_cgroup *cgroup) {
        const char *separator = "  devices by number: ";

        for (size_t i = 0; i < cgroup->n_devices; i++) {
                const struct plan_device_rule *rule = &cgroup->devices[i];

                if (!(rule->access & (BPF_DEVCG_ACC_READ | BPF_DEVCG_ACC_WRITE)) || is_overruled(rule, cgroup->devices + cgroup->n_devices))
                        continue;
                str_printf(out, "%s%s%s", separator, rule->allow ? "" : "not ", letter_of(rule->type));
                put_number(out, rule->has & PLAN_DEVICE_RULE_HAS_MAJOR, rule->major);
                str_putc(out, ':');
                put_number(out, rule->has & PLAN_DEVICE_RULE_HAS_MINOR, rule->minor);
                separator = ", ";
        }
        if (separator[0] == ',')
                str_putc(out, '\n');
}

static void view_net_device(struct str *out, const struct plan_net_device *device) {
        _cleanup_str_ struct str remark = { 0 };

        str_printf(&remark, "the host's network device%s%s", device->inside ? ", there called " : "", device->inside ?: "");
        view_item(out, device->name, remark.text);
}

void plan_view_reachable(struct str *out, const struct plan_plan *plan) {
        const char *network = joined(plan, CLONE_NEWNET);
        size_t binds = 0;

        view_heading(out, "Reachable");
        if (plan->namespaces->create & CLONE_NEWNET)
                view_item(out, "no network", "a namespace of its own, with nothing but what hooks or the engine put into it");
        else if (network)
                view_item(out, "the network of a namespace that exists", network);
        else
                view_item(out, "the host's whole network", "also what listens on its loopback device and in its abstract sockets");
        for (size_t i = 0; i < plan->n_net_devices; i++)
                view_net_device(out, &plan->net_devices[i]);
        if (!(plan->namespaces->create & CLONE_NEWPID))
                view_item(out, "processes outside the container", joined(plan, CLONE_NEWPID) ?: "the host's");
        if (!(plan->namespaces->create & CLONE_NEWIPC))
                view_item(out, "shared memory and message queues outside the container", joined(plan, CLONE_NEWIPC) ?: "the host's");
        for (size_t i = 0; i < plan->n_mounts; i++)
                binds += plan->mounts[i].kind == PLAN_MOUNT_KIND_BIND;
        if (binds)
                view_item(out, "whoever listens on a socket in the bound directories above", NULL);
        if (!plan->cgroup->limit_devices && !plan->bind_devices && !plan->make_devices)
                view_item(out, "every device", "no device rules");
        else
                view_device_rules(out, plan->cgroup);
}
