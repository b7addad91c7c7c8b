#define _GNU_SOURCE
#include "cmd/create_options.h"

#include <errno.h>

#include "base/log.h"
#include "life/protect.h"
#include "plan/admit.h"
#include "plan/command_policy.h"

static int check_terminal(const struct create_options *options, const struct plan_plan *plan, bool detached, struct error *err) {
        if (options->console_socket && !plan->process->terminal)
                return fail(
                        err, CODE_CONFIG_INVALID, EINVAL, "process.terminal", "a console socket is given, but the process has no terminal");
        if (plan->process->terminal && detached && !options->console_socket)
                return fail(err, CODE_CONFIG_INVALID, EINVAL, "process.terminal",
                        "a detached container with a terminal needs --console-socket");
        return 0;
}

struct launch_request create_request(
        const struct invocation *invocation, const struct create_options *options, const struct plan_plan *plan) {
        const struct activation activation = activation_read();

        return (struct launch_request){
                .plan = plan,
                .root = invocation->root,
                .console_socket = options->console_socket,
                .pid_file = options->pid_file,
                .pidfd_socket = options->pidfd_socket,
                .preserve_fds = options->preserve_fds + activation.n_fds,
                .activation = activation,
        };
}

void create_warn(const struct plan_plan *plan) {
        for (size_t i = 0; i < plan->n_warnings; i++)
                log_message(LOG_LEVEL_WARNING, "%s", plan->warnings[i]);
        for (size_t i = 0; i < plan->process->n_warnings; i++)
                log_message(LOG_LEVEL_WARNING, "%s", plan->process->warnings[i]);
}

int create_plan(struct invocation *invocation, const struct create_options *options, const char *id, bool detached, struct plan_plan **ret,
        struct error *err) {
        struct host host = { .arena = invocation->arena };
        struct plan_plan *plan;
        struct gap *gaps;
        size_t n_gaps;
        int r;

        if ((r = state_check_id(id, err)) < 0 || (r = bundle_plan(invocation, &options->bundle, id, &host, &plan, err)) < 0 ||
                (r = check_terminal(options, plan, detached, err)) < 0 ||
                (detached && plan->sage && plan->sage->process && (r = command_policy_unattended(plan, err)) < 0) ||
                (r = facts_need(&host, admit_needs(plan), err)) < 0 ||
                (r = admit(invocation->arena, plan, &host.facts, &gaps, &n_gaps, err)) < 0)
                return r;
        log_debug("%s: planned: root file system %s, %zu mounts, cgroup %s", id, plan->rootfs->path, plan->n_mounts,
                plan->cgroup->path ? plan->cgroup->path : "none");
        if (plan->protect_binary && (r = protect_binary(invocation->argv, err)) < 0)
                return r;
        *ret = plan;
        return 0;
}
