#define _GNU_SOURCE
#include "cmd/plan_view.h"

#include <inttypes.h>
#include <linux/sched.h>

#include "cmd/plan_view_text.h"
#include "plan/capabilities.h"
#include "plan/namespaces.h"
#include "plan/payload_filter.h"
#include "plan/rlimits.h"

/* ---- identity ----------------------------------------------------------------------------------------------------------- */

static void view_map(struct str *out, const char *name, const struct plan_id_range *map, size_t n) {
        if (n == 0)
                return;
        view_label(out, name);
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
        view_label(out, name);
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
        view_label(out, "command");
        for (size_t i = 0; i < process->n_args; i++) {
                if (i)
                        str_putc(out, ' ');
                view_put(out, process->args[i]);
        }
        str_putc(out, '\n');
        view_line(out, "directory", process->cwd);
        view_line(out, "terminal", process->terminal ? "its own" : "none");
        view_label(out, "environment");
        str_printf(out, "%zu variables%s\n", process->n_env, process->add_home ? ", and HOME from the container's passwd" : "");
}

static void view_filter(struct str *out, const struct oci_seccomp *rules) {
        const char *otherwise = rules ? spec_enum_name(&oci_seccomp_action_enum, (int)rules->default_action) : "as built";

        str_printf(out, "filtered by %zu rules, else %s\n", rules ? rules->n_syscalls : 0, otherwise);
}

/* plan/payload_filter.h */
static void view_own_filter(struct str *out, unsigned parts) {
        static const struct {
                enum payload_filter_part part;
                const char *refused;
        } rows[] = {
                { PAYLOAD_FILTER_ISOLATION, "namespaces, mounts, other processes, rare parts of the kernel" },
                { PAYLOAD_FILTER_PROJECT, "other quota projects" },
                { PAYLOAD_FILTER_NO_NETWORK, "all sockets" },
                { PAYLOAD_FILTER_NETWORK, "sockets that listen or are neither TCP's nor UDP's" },
        };
        const char *before = "refused are those for ";

        for (size_t i = 0; i < ELEMENTSOF(rows); i++)
                if (parts & rows[i].part) {
                        str_printf(out, "%s%s", before, rows[i].refused);
                        before = "; ";
                }
        str_puts(out, "\n");
}

static void view_identity(struct str *out, const struct plan_plan *plan) {
        const struct plan_process *process = plan->process;
        unsigned parts = payload_filter_parts(plan->sage);

        view_heading(out, "Identity");
        view_label(out, "user");
        str_printf(out, "%u:%u", process->uid, process->gid);
        for (size_t i = 0; i < process->n_groups; i++)
                str_printf(out, "%s%u", i ? " " : ", also in groups ", process->groups[i]);
        if (process->keep_groups)
                str_puts(out, ", keeps the caller's groups");
        str_printf(out, ", umask %04o\n", process->umask);
        view_map(out, "users", plan->ids->uid_map, plan->ids->n_uid_map);
        view_map(out, "groups", plan->ids->gid_map, plan->ids->n_gid_map);
        view_capabilities(out, process->capabilities);
        view_line(out, "privileges", process->no_new_privileges ? "cannot grow (no_new_privs)" : "can grow by set-uid programs");
        if (process->apparmor_profile)
                view_line(out, "AppArmor", process->apparmor_profile);
        if (process->selinux_label)
                view_line(out, "SELinux", process->selinux_label);
        if (parts) {
                view_label(out, "system calls");
                view_own_filter(out, parts);
        }
        view_label(out, parts ? "the bundle's" : "system calls");
        if (plan->filter)
                view_filter(out, plan->filter->rules);
        else
                str_puts(out, "all\n");
}

/* ---- namespaces, limits, hooks --------------------------------------------------------------------------------------------- */

static void view_namespaces(struct str *out, const struct plan_namespaces *namespaces) {
        static const uint64_t flags[] = { CLONE_NEWUSER, CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWNET, CLONE_NEWIPC, CLONE_NEWUTS,
                CLONE_NEWCGROUP, CLONE_NEWTIME };
        uint64_t own = namespaces->create;

        view_heading(out, "Namespaces");
        view_label(out, "new");
        for (size_t i = 0; i < ELEMENTSOF(flags); i++)
                if (namespaces->create & flags[i])
                        str_printf(out, "%s ", namespace_name(flags[i]));
        out->text[out->size - 1] = '\n';
        for (size_t i = 0; i < namespaces->n_join; i++) {
                own |= namespaces->join[i].flag;
                view_label(out, i ? "" : "joined");
                str_printf(out, "%s: ", namespace_name(namespaces->join[i].flag) ?: "?");
                view_put(out, namespaces->join[i].path);
                str_putc(out, '\n');
        }
        if (namespaces->time_offsets) {
                view_label(out, "clocks");
                for (const char *at = namespaces->time_offsets; *at; at++)
                        str_puts(out, *at != '\n' ? (char[]){ *at, 0 } : at[1] ? ", " : " (seconds, nanoseconds)\n");
        }
        view_label(out, "the host's");
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

        view_heading(out, "Limits");
        view_line(out, "cgroup", cgroup->path ?: "none");
        for (size_t i = 0; i < cgroup->n_writes; i++)
                view_line(out, cgroup->writes[i].file, cgroup->writes[i].value);
        plan_view_scheduling(out, plan);
        for (size_t i = 0; i < plan->process->n_rlimits; i++) {
                const struct plan_rlimit *limit = &plan->process->rlimits[i];

                view_label(out, rlimit_name(limit->resource) ?: "rlimit");
                put_limit(out, limit->soft);
                if (limit->hard != limit->soft) {
                        str_puts(out, ", at most ");
                        put_limit(out, limit->hard);
                }
                str_putc(out, '\n');
        }
        for (size_t i = 0; i < plan->n_sysctls; i++) {
                view_label(out, i ? "" : "sysctl");
                view_put(out, plan->sysctls[i].key);
                str_puts(out, " = ");
                view_put(out, plan->sysctls[i].value);
                str_putc(out, '\n');
        }
}

static void view_hook_list(struct str *out, const char *name, const struct oci_hook *hooks, size_t n) {
        for (size_t i = 0; i < n; i++)
                view_line(out, name, hooks[i].path);
}

static void view_hooks(struct str *out, const struct oci_hooks *hooks) {
        if (!hooks)
                return;
        view_heading(out, "Hooks (programs that run with the runtime's rights, but for createContainer and startContainer)");
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
        view_heading(out, "Without effect");
        for (size_t i = 0; i < plan->n_warnings; i++)
                view_item(out, plan->warnings[i], NULL);
        for (size_t i = 0; i < plan->process->n_warnings; i++)
                view_item(out, plan->process->warnings[i], NULL);
}

void plan_view(const struct plan_plan *plan, struct str *out) {
        view_heading(out, "Container");
        view_line(out, "id", plan->id);
        view_line(out, "bundle", plan->bundle);
        if (plan->hostname)
                view_line(out, "host name", plan->hostname);
        if (plan->domainname)
                view_line(out, "domain name", plan->domainname);
        view_process(out, plan->process);
        view_identity(out, plan);
        view_namespaces(out, plan->namespaces);
        view_limits(out, plan);
        view_hooks(out, plan->hooks);
        view_warnings(out, plan);
        plan_view_readable(out, plan);
        plan_view_writable(out, plan);
        plan_view_reachable(out, plan);
}
