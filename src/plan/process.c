#include "plan/process.h"

#include "plan/annotations.h"
#include "plan/capabilities.h"
#include "plan/disk.h"
#include "plan/cpu_list.h"
#include "plan/environment.h"
#include "plan/ids.h"
#include "plan/rlimits.h"
#include "plan/sandbox.h"
#include "plan/scheduler.h"

#include <linux/capability.h>
#include <linux/sched.h>

/* linux/binfmts.h: execve(2) answers E2BIG to a longer argument without saying which. */
#define LONGEST_ARGUMENT (128u * 1024)

/* What both runc and crun set where config.json says nothing. */
#define DEFAULT_UMASK 0022u

static int compile_user(struct arena *arena, const struct oci_user *user, const char *field, struct plan_process *p, struct error *err) {
        p->umask = DEFAULT_UMASK;
        p->has |= PLAN_PROCESS_HAS_UMASK;
        if (!user)
                return 0;
        /* To setresuid(2) it means "leave as it is", so the payload would stay what the runtime is: root. */
        if (user->uid == UINT32_MAX)
                return INVALID(err, FIELD(arena, "%s.user.uid", field), "4294967295 is no user");
        if (user->gid == UINT32_MAX)
                return INVALID(err, FIELD(arena, "%s.user.gid", field), "4294967295 is no group");
        for (size_t i = 0; i < user->n_additional_gids; i++)
                if (user->additional_gids[i] == UINT32_MAX)
                        return INVALID(err, FIELD(arena, "%s.user.additionalGids[%zu]", field, i), "4294967295 is no group");
        if (user->has & OCI_USER_HAS_UMASK) {
                if (user->umask > 0777)
                        return INVALID(err, FIELD(arena, "%s.user.umask", field), "expected at most 511 (0777), found %u", user->umask);
                p->umask = user->umask;
        }
        p->uid = user->uid;
        p->gid = user->gid;
        p->groups = user->additional_gids;
        p->n_groups = user->n_additional_gids;
        return 0;
}

static int compile_arguments(
        struct arena *arena, const struct oci_process *process, const char *field, struct plan_process *p, struct error *err) {
        bool home;
        int r;

        for (size_t i = 0; i < process->n_args; i++)
                if (strlen(process->args[i]) >= LONGEST_ARGUMENT)
                        return fail(err, CODE_CONFIG_INVALID, E2BIG, FIELD(arena, "%s.args[%zu]", field, i),
                                "one argument may have at most %u bytes (execve(2), MAX_ARG_STRLEN)", LONGEST_ARGUMENT - 1);
        p->args = process->args;
        p->n_args = process->n_args;
        r = environment_compile(arena, process->env, process->n_env, field, &p->env, &p->n_env, &home, err);
        if (r < 0)
                return r;
        p->add_home = !home;
        if (p->add_home)
                p->has |= PLAN_PROCESS_HAS_ADD_HOME;
        return 0;
}

/* Kept with the container, whose own process it does not concern (config.md): a later exec may ask for nothing of its own. */
static int compile_affinity(
        struct arena *arena, const struct oci_exec_cpu_affinity *asked, const char *field, struct plan_process *p, struct error *err) {
        struct plan_exec_affinity *affinity;
        int r;

        if (!asked)
                return 0;
        affinity = arena_new(arena, struct plan_exec_affinity);
        if ((r = cpu_list_parse(arena, asked->initial, CPU_LIST_MAX, FIELD(arena, "%s.execCPUAffinity.initial", field), &affinity->initial,
                     &affinity->n_initial, err)) < 0 ||
                (r = cpu_list_parse(arena, asked->final, CPU_LIST_MAX, FIELD(arena, "%s.execCPUAffinity.final", field), &affinity->final,
                         &affinity->n_final, err)) < 0)
                return r;
        if (affinity->n_initial || affinity->n_final)
                p->exec_affinity = affinity;
        return 0;
}

static const char *unless_empty(const char *text) {
        return text && *text ? text : NULL;
}

static void compile_settings(const struct oci_process *process, struct plan_process *p) {
        p->cwd = process->cwd;
        p->no_new_privileges = process->no_new_privileges;
        p->terminal = process->terminal;
        if (process->terminal && process->console_size) { /* config.md: ignored without a terminal */
                p->console_width = process->console_size->width;
                p->console_height = process->console_size->height;
                p->has |= PLAN_PROCESS_HAS_CONSOLE_WIDTH | PLAN_PROCESS_HAS_CONSOLE_HEIGHT;
        }
        if (process->has & OCI_PROCESS_HAS_OOM_SCORE_ADJ) {
                p->oom_score_adj = process->oom_score_adj;
                p->has |= PLAN_PROCESS_HAS_OOM_SCORE_ADJ;
        }
        p->apparmor_profile = unless_empty(process->apparmor_profile);
        p->selinux_label = unless_empty(process->selinux_label);
}

/* args may be missing. */
static int compile_any(struct arena *arena, const struct oci_process *process, const char *field, const struct facts_facts *facts,
        struct plan_process **ret, struct error *err) {
        unsigned last = facts->kernel ? facts->kernel->last_capability : CAPABILITY_COUNT - 1;
        struct plan_process *p = arena_new(arena, struct plan_process);
        struct warnings warnings = { 0 };
        int r;

        if (!process->cwd || process->cwd[0] != '/')
                return INVALID(err, FIELD(arena, "%s.cwd", field), "expected an absolute path, found \"%s\"", process->cwd ?: "");
        if (process->has & OCI_PROCESS_HAS_OOM_SCORE_ADJ && (process->oom_score_adj < -1000 || process->oom_score_adj > 1000))
                return INVALID(err, FIELD(arena, "%s.oomScoreAdj", field), "expected -1000 to 1000, found %d", process->oom_score_adj);
        if ((r = compile_user(arena, process->user, field, p, err)) < 0 || (r = compile_arguments(arena, process, field, p, err)) < 0 ||
                (r = rlimits_compile(arena, process, field, p, err)) < 0 ||
                (r = scheduler_compile(arena, process, field, p, &warnings, err)) < 0 ||
                (r = compile_affinity(arena, process->exec_cpu_affinity, field, p, err)) < 0)
                return r;
        compile_settings(process, p);
        p->capabilities = capabilities_compile(arena, process->capabilities, last, field, &warnings);
        p->warnings = warnings.list;
        p->n_warnings = warnings.n;
        *ret = p;
        return 0;
}

int compile_process(struct arena *arena, const struct oci_process *process, const char *field, const struct facts_facts *facts,
        struct plan_process **ret, struct error *err) {
        if (process->n_args == 0)
                return INVALID(err, FIELD(arena, "%s.args", field), "expected at least the program to run");
        return compile_any(arena, process, field, facts, ret, err);
}

int compile_process_within(struct arena *arena, const struct plan_plan *plan, const char *field, const struct facts_facts *facts,
        struct plan_process *p, struct error *err) {
        struct warnings warnings = { .list = p->warnings, .n = p->n_warnings, .room = p->n_warnings };
        int r;

        if (plan->sandbox) {
                const struct plan_capabilities *asked = p->capabilities;

                if (asked->bounding | asked->effective | asked->inheritable | asked->permitted | asked->ambient)
                        return INVALID(err, FIELD(arena, "%s.capabilities", field), "commands of a strict sandbox have no capabilities");
                p->no_new_privileges = true;
        }
        if (annotation_true(plan->annotations, plan->n_annotations, "run.oci.keep_original_groups")) {
                /* As crun: the caller's groups in place of additionalGids, which podman fills from the image all the same. */
                p->keep_groups = true;
                p->has |= PLAN_PROCESS_HAS_KEEP_GROUPS;
                p->groups = NULL;
                p->n_groups = 0;
        }
        if (p->n_groups > 0 && plan->ids->deny_setgroups)
                return UNSUPPORTED(err, FIELD(arena, "%s.user.additionalGids", field),
                        "supplementary groups cannot be set in a user namespace whose map an unprivileged user wrote himself; "
                        "use maps from /etc/subgid");
        if ((r = ids_check_process(arena, plan->ids, field, p, err)) < 0 ||
                (plan->sandbox && (r = sandbox_process(arena, plan, field, p, err)) < 0))
                return r;
        if (!namespace_own(plan, CLONE_NEWUSER)) /* a user namespace gives its first process every capability */
                capabilities_limit(arena, p->capabilities, facts->identity->capabilities, field, &warnings);
        if (plan->sage && (r = disk_check_process(arena, plan, field, facts, p, err)) < 0)
                return r;
        p->warnings = warnings.list;
        p->n_warnings = warnings.n;
        return 0;
}

int process_compile(struct compilation *c) {
        const struct oci_process *process = c->request->config->process;
        int r;

        if (!process)
                return INVALID(c->err, "process", "expected the process to run");
        /* A strict sandbox may have none of its own, and then waits for exec (plan/sandbox_rewrite.c). */
        r = (c->plan->sandbox && process->n_args == 0 ? compile_any : compile_process)(
                c->arena, process, "process", c->facts, &c->plan->process, c->err);
        if (r < 0 || (r = scheduler_check_hooks(c)) < 0)
                return r;
        return compile_process_within(c->arena, c->plan, "process", c->facts, c->plan->process, c->err);
}
