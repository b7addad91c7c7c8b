/* The process that exec runs: a file's, or the container's own with what the options change. */
#pragma once

#include "cmd/command.h"
#include "cmd/supervise_options.h"

struct exec_options {
        const char *process, *cwd, *user, *selinux, *apparmor, *console_socket, *pid_file, *pidfd_socket;
        struct text_list env, caps, groups, cgroups;
        bool tty, detach, no_new_privileges, ignore_paused, no_wait;
        unsigned preserve_fds;
        struct supervise_options supervise;
};

/* args: the NULL-terminated command, not used with --process. */
int exec_process(struct invocation *invocation, const struct exec_options *options, char **args, const struct plan_plan *plan,
                 struct plan_process **ret, struct error *err);
