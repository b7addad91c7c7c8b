/* What create and run have in common: a bundle to plan and the launch that the options ask for. */
#pragma once

#include "cmd/bundle.h"
#include "cmd/supervise_options.h"
#include "life/launch.h"

struct create_options {
        struct bundle_options bundle;
        const char *console_socket, *pid_file, *pidfd_socket;
        unsigned preserve_fds;
        bool detach, keep;
        struct supervise_options supervise; /* of run */
        void (*planned)(const struct plan_plan *plan); /* NULL, or what is to be told before anything is made */
};

#define CREATE_OPTION_ROWS                                                                                                                         \
        { "bundle", 'b', OPTION_TEXT, offsetof(struct create_options, bundle.bundle), "the bundle's directory (default: the current one)" },       \
        { "config", 'f', OPTION_TEXT, offsetof(struct create_options, bundle.config), "another file than config.json in the bundle" },             \
        { "console-socket", 0, OPTION_TEXT, offsetof(struct create_options, console_socket), "Unix socket that gets the terminal's master" },      \
        { "pid-file", 0, OPTION_TEXT, offsetof(struct create_options, pid_file), "file for the pid of the container's process" },                  \
        { "pidfd-socket", 0, OPTION_TEXT, offsetof(struct create_options, pidfd_socket), "Unix socket that gets a pidfd of that process" },        \
        { "preserve-fds", 0, OPTION_NUMBER, offsetof(struct create_options, preserve_fds), "how many descriptors from 3 on the container gets" },  \
        { "no-pivot", 0, OPTION_FLAG, offsetof(struct create_options, bundle.no_pivot), "no pivot_root(2): for a root file system on a ramdisk" }, \
        { "no-new-keyring", 0, OPTION_FLAG, offsetof(struct create_options, bundle.no_new_keyring), "keep the caller's session keyring" },         \
        { "no-subreaper", 0, OPTION_NOTHING_FLAG, 0, "accepted; no subreaper is needed" }

/* Plans the bundle, checks what can be checked before anything is touched, and protects our binary if the plan says so. */
int create_plan(struct invocation *invocation, const struct create_options *options, const char *id, bool detached, struct plan_plan **ret,
                struct error *err);

/* What launch() is asked for. wait_for_start is the command's to set. */
struct launch_request create_request(const struct invocation *invocation, const struct create_options *options, const struct plan_plan *plan);

/* Tells what the plan could not have, once the container is there: with --log-format json a failure must stay the only line. */
void create_warn(const struct plan_plan *plan);
