#define _GNU_SOURCE
#include "cmd/plan_view.h"

#include <inttypes.h>
#include <linux/bpf.h>
#include <linux/sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "plan/capabilities.h"
#include "plan/namespaces.h"
#include "plan/rlimits.h"

static void heading(struct str *out, const char *text) {
        str_printf(out, "%s%s\n", out->size ? "\n" : "", text);
}

static void label(struct str *out, const char *name) {
        str_printf(out, "  %-20s ", name);
}

/* Names come from a bundle, and this goes to a terminal: control characters are shown, not sent. */
static void put(struct str *out, const char *text) {
        for (; *text; text++) {
                unsigned char c = (unsigned char)*text;

                if (c < 0x20 || c == 0x7f)
                        str_printf(out, "\\x%02x", c);
                else
                        str_putc(out, (char)c);
        }
}

static void line(struct str *out, const char *name, const char *text) {
        label(out, name);
        put(out, text);
        str_putc(out, '\n');
}

void plan_view_line(struct str *out, const char *name, const char *text) {
        line(out, name, text);
}

static void item(struct str *out, const char *text, const char *remark) {
        str_puts(out, "  ");
        put(out, text);
        if (remark) {
                str_puts(out, "  (");
                put(out, remark);
                str_putc(out, ')');
        }
        str_putc(out, '\n');
}

/* ---- identity ----------------------------------------------------------------------------------------------------------- */

static void view_map(struct str *out, const char *name, const struct plan_id_range *map, size_t n) {
        if (n == 0)
                return;
        label(out, name);
        for (size_t i = 0; i < n; i++) {
                str_printf(out, "%s%u", i ? ", " : "", map[i].inside);
                if (map[i].count > 1)
                        str_printf(out, "-%u", map[i].inside + map[i].count - 1);
                str_printf(out, " is the host's %u", map[i].outside);
                if (map[i].count > 1)
                        str_printf(out, "-%u", map[i].outside + map[i].count - 1);
        }
        str_putc(out, '\n');
}

static void view_set(struct str *out, const char *name, uint64_t set) {
        label(out, name);
        if (set == 0)
                str_puts(out, "none");
        for (unsigned n = 0, listed = 0; n < 64; n++)
                if (set & UINT64_C(1) << n) {
                        const char *capability = capability_name(n);

                        str_printf(out, "%s", listed++ ? " " : "");
                        if (capability)
                                str_puts(out, capability + strlen("CAP_"));
                        else
                                str_printf(out, "%u", n);
                }
        str_putc(out, '\n');
}

static void view_capabilities(struct str *out, const struct plan_capabilities *sets) {
        view_set(out, "capabilities", sets->effective);
        if (sets->bounding != sets->effective)
                view_set(out, "  at most", sets->bounding);
        if (sets->permitted != sets->effective)
                view_set(out, "  permitted", sets->permitted);
        if (sets->inheritable)
                view_set(out, "  inheritable", sets->inheritable);
        if (sets->ambient)
                view_set(out, "  ambient", sets->ambient);
}

static void view_process(struct str *out, const struct plan_process *process) {
        label(out, "command");
        for (size_t i = 0; i < process->n_args; i++) {
                if (i)
                        str_putc(out, ' ');
                put(out, process->args[i]);
        }
        str_putc(out, '\n');
        line(out, "directory", process->cwd);
        line(out, "terminal", process->terminal ? "its own" : "none");
        label(out, "environment");
        str_printf(out, "%zu variables%s\n", process->n_env, process->add_home ? ", and HOME from the container's passwd" : "");
}

static void view_identity(struct str *out, const struct plan_plan *plan) {
        const struct plan_process *process = plan->process;

        heading(out, "Identity");
        label(out, "user");
        str_printf(out, "%u:%u", process->uid, process->gid);
        for (size_t i = 0; i < process->n_groups; i++)
                str_printf(out, "%s%u", i ? " " : ", also in groups ", process->groups[i]);
        if (process->keep_groups)
                str_puts(out, ", keeps the caller's groups");
        str_printf(out, ", umask %04o\n", process->umask);
        view_map(out, "users", plan->ids->uid_map, plan->ids->n_uid_map);
        view_map(out, "groups", plan->ids->gid_map, plan->ids->n_gid_map);
        view_capabilities(out, process->capabilities);
        line(out, "privileges", process->no_new_privileges ? "cannot grow (no_new_privs)" : "can grow by set-uid programs");
        if (process->apparmor_profile)
                line(out, "AppArmor", process->apparmor_profile);
        if (process->selinux_label)
                line(out, "SELinux", process->selinux_label);
        label(out, "system calls");
        if (plan->filter)
                str_printf(out, "filtered by %zu rules, else %s\n", plan->filter->rules ? plan->filter->rules->n_syscalls : 0,
                           plan->filter->rules ? spec_enum_name(&oci_seccomp_action_enum, (int)plan->filter->rules->default_action) :
                                   "as built");
        else
                str_puts(out, "all\n");
}

/* ---- namespaces, limits, hooks --------------------------------------------------------------------------------------------- */

static void view_namespaces(struct str *out, const struct plan_namespaces *namespaces) {
        static const uint64_t flags[] = {
                CLONE_NEWUSER, CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWNET, CLONE_NEWIPC, CLONE_NEWUTS, CLONE_NEWCGROUP, CLONE_NEWTIME
        };
        uint64_t own = namespaces->create;

        heading(out, "Namespaces");
        label(out, "new");
        for (size_t i = 0; i < ELEMENTSOF(flags); i++)
                if (namespaces->create & flags[i])
                        str_printf(out, "%s ", namespace_name(flags[i]));
        out->text[out->size - 1] = '\n';
        for (size_t i = 0; i < namespaces->n_join; i++) {
                own |= namespaces->join[i].flag;
                label(out, i ? "" : "joined");
                str_printf(out, "%s: ", namespace_name(namespaces->join[i].flag) ?: "?");
                put(out, namespaces->join[i].path);
                str_putc(out, '\n');
        }
        if (namespaces->time_offsets) {
                label(out, "clocks");
                for (const char *at = namespaces->time_offsets; *at; at++)
                        str_puts(out, *at != '\n' ? (char[]){ *at, 0 } : at[1] ? ", " : " (seconds, nanoseconds)\n");
        }
        label(out, "the host's");
        for (size_t i = 0; i < ELEMENTSOF(flags); i++)
                if (!(own & flags[i]))
                        str_printf(out, "%s ", namespace_name(flags[i]));
        out->text[out->size - 1] = '\n';
}

static void put_limit(struct str *out, uint64_t value) {
        if (value == UINT64_MAX)
                str_puts(out, "unlimited");
        else
                str_printf(out, "%" PRIu64, value);
}

static void view_limits(struct str *out, const struct plan_plan *plan) {
        const struct plan_cgroup *cgroup = plan->cgroup;

        heading(out, "Limits");
        line(out, "cgroup", cgroup->path ?: "none");
        for (size_t i = 0; i < cgroup->n_writes; i++)
                line(out, cgroup->writes[i].file, cgroup->writes[i].value);
        plan_view_scheduling(out, plan);
        for (size_t i = 0; i < plan->process->n_rlimits; i++) {
                const struct plan_rlimit *limit = &plan->process->rlimits[i];

                label(out, rlimit_name(limit->resource) ?: "rlimit");
                put_limit(out, limit->soft);
                if (limit->hard != limit->soft) {
                        str_puts(out, ", at most ");
                        put_limit(out, limit->hard);
                }
                str_putc(out, '\n');
        }
        for (size_t i = 0; i < plan->n_sysctls; i++) {
                label(out, i ? "" : "sysctl");
                put(out, plan->sysctls[i].key);
                str_puts(out, " = ");
                put(out, plan->sysctls[i].value);
                str_putc(out, '\n');
        }
}

static void view_hook_list(struct str *out, const char *name, const struct oci_hook *hooks, size_t n) {
        for (size_t i = 0; i < n; i++)
                line(out, name, hooks[i].path);
}

static void view_hooks(struct str *out, const struct oci_hooks *hooks) {
        if (!hooks)
                return;
        heading(out, "Hooks (programs that run with the runtime's rights, but for createContainer and startContainer)");
        view_hook_list(out, "prestart", hooks->prestart, hooks->n_prestart);
        view_hook_list(out, "createRuntime", hooks->create_runtime, hooks->n_create_runtime);
        view_hook_list(out, "createContainer", hooks->create_container, hooks->n_create_container);
        view_hook_list(out, "startContainer", hooks->start_container, hooks->n_start_container);
        view_hook_list(out, "poststart", hooks->poststart, hooks->n_poststart);
        view_hook_list(out, "poststop", hooks->poststop, hooks->n_poststop);
}

static void view_warnings(struct str *out, const struct plan_plan *plan) {
        if (plan->n_warnings + plan->process->n_warnings == 0)
                return;
        heading(out, "Without effect");
        for (size_t i = 0; i < plan->n_warnings; i++)
                item(out, plan->warnings[i], NULL);
        for (size_t i = 0; i < plan->process->n_warnings; i++)
                item(out, plan->process->warnings[i], NULL);
}

/* ---- readable, writable, reachable ----------------------------------------------------------------------------------------- */

static bool mount_read_only(const struct plan_mount *m) {
        if (m->recursive_set & MOUNT_ATTR_RDONLY)
                return true;
        switch (m->kind) {
        case PLAN_MOUNT_KIND_FILESYSTEM:
        case PLAN_MOUNT_KIND_CGROUP:
        case PLAN_MOUNT_KIND_SYSFS_OR_BIND:
                return m->flags & MS_RDONLY;
        case PLAN_MOUNT_KIND_BIND:
                return m->attributes_set & MOUNT_ATTR_RDONLY;
        }
        return false;
}

/* "ro" on a mount says nothing of what is mounted below it. */
static bool below_writable(const struct plan_mount *m) {
        return m->kind == PLAN_MOUNT_KIND_BIND && m->recursive && !(m->recursive_set & MOUNT_ATTR_RDONLY);
}

static void view_mount(struct str *out, const struct plan_mount *m, const char *more) {
        _cleanup_str_ struct str remark = { 0 };

        if (m->kind == PLAN_MOUNT_KIND_BIND)
                str_printf(&remark, "the host's %s%s", m->source, m->recursive ? " with the mounts below it" : "");
        else
                str_printf(&remark, "%s", m->kind == PLAN_MOUNT_KIND_CGROUP ? "its own cgroup" : m->type ?: "");
        if (more)
                str_puts(&remark, more);
        item(out, m->destination, remark.text);
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
                put(out, paths[i]);
        }
        if (n)
                str_printf(out, "  (%s)\n", remark);
}

static void view_readable(struct str *out, const struct plan_plan *plan) {
        heading(out, "Readable (besides what is writable)");
        if (plan->rootfs->readonly)
                item(out, "/", plan->rootfs->path);
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
        item(out, device->path, remark);
}

static void view_writable(struct str *out, const struct plan_plan *plan) {
        heading(out, "Writable");
        if (!plan->rootfs->readonly)
                item(out, "/", plan->rootfs->path);
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

/* Devices that may be opened; that nodes of the others may be made is nothing that they do. */
static void view_device_rules(struct str *out, const struct plan_cgroup *cgroup) {
        const char *separator = "  devices by number: ";

        for (size_t i = 0; i < cgroup->n_devices; i++) {
                const struct plan_device_rule *rule = &cgroup->devices[i];

                if (!(rule->access & (BPF_DEVCG_ACC_READ | BPF_DEVCG_ACC_WRITE)) || is_overruled(rule, cgroup->devices + cgroup->n_devices))
                        continue;
                str_printf(out, "%s%s%s", separator, rule->allow ? "" : "not ",
                           rule->type == BPF_DEVCG_DEV_CHAR ? "c " : rule->type == BPF_DEVCG_DEV_BLOCK ? "b " : "");
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
        item(out, device->name, remark.text);
}

static void view_reachable(struct str *out, const struct plan_plan *plan) {
        const char *network = joined(plan, CLONE_NEWNET);
        size_t binds = 0;

        heading(out, "Reachable");
        if (plan->namespaces->create & CLONE_NEWNET)
                item(out, "no network", "a namespace of its own, with nothing but what hooks or the engine put into it");
        else if (network)
                item(out, "the network of a namespace that exists", network);
        else
                item(out, "the host's whole network", "also what listens on its loopback device and in its abstract sockets");
        for (size_t i = 0; i < plan->n_net_devices; i++)
                view_net_device(out, &plan->net_devices[i]);
        if (!(plan->namespaces->create & CLONE_NEWPID))
                item(out, "processes outside the container", joined(plan, CLONE_NEWPID) ?: "the host's");
        if (!(plan->namespaces->create & CLONE_NEWIPC))
                item(out, "shared memory and message queues outside the container", joined(plan, CLONE_NEWIPC) ?: "the host's");
        for (size_t i = 0; i < plan->n_mounts; i++)
                binds += plan->mounts[i].kind == PLAN_MOUNT_KIND_BIND;
        if (binds)
                item(out, "whoever listens on a socket in the bound directories above", NULL);
        if (!plan->cgroup->limit_devices && !plan->bind_devices && !plan->make_devices)
                item(out, "every device", "no device rules");
        else
                view_device_rules(out, plan->cgroup);
}

void plan_view(const struct plan_plan *plan, struct str *out) {
        heading(out, "Container");
        line(out, "id", plan->id);
        line(out, "bundle", plan->bundle);
        if (plan->hostname)
                line(out, "host name", plan->hostname);
        if (plan->domainname)
                line(out, "domain name", plan->domainname);
        view_process(out, plan->process);
        view_identity(out, plan);
        view_namespaces(out, plan->namespaces);
        view_limits(out, plan);
        view_hooks(out, plan->hooks);
        view_warnings(out, plan);
        view_readable(out, plan);
        view_writable(out, plan);
        view_reachable(out, plan);
}
