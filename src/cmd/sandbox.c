#define _GNU_SOURCE
#include "cmd/command.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/log.h"
#include "base/str.h"
#include "cmd/run_container.h"
#include "cmd/sandbox_lookup.h"
#include "life/private_bundle.h"
#include "life/protect.h"

static const struct option_row options[] = { SANDBOX_OPTION_ROWS };
extern const struct command command_sandbox;

/* Characters that terminfo(5) has in its names: it becomes a variable of the sandbox. */
static bool is_terminal_name(const char *name) {
        return *name && strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-._") == strlen(name) &&
                strlen(name) <= 64;
}

/* A terminal for the command where we have one to pass on, unless it was said. */
static void choose_terminal(const struct sandbox_options *o, char *const *command, struct sandbox_found *found) {
        const char *name = getenv("TERM");

        if (name && is_terminal_name(name))
                found->term = name;
        if (!o->tty || streq(o->tty, "auto"))
                found->terminal = *command && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
}

static int check_options(const struct sandbox_options *o, struct error *err) {
        if (o->egress_log)
                return fail(err, CODE_CAPABILITY_UNSUPPORTED, EOPNOTSUPP, "--egress-log",
                        "the egress broker for the network of a sandbox is not supported yet");
        return 0;
}

static int choose_id(struct arena *arena, const struct sandbox_options *o, const char **ret, struct error *err) {
        uint64_t random;

        if (o->id) {
                *ret = o->id;
                return state_check_id(o->id, err) < 0
                        ? fail(err, CODE_USAGE, EINVAL, "--id",
                                  "expected 1 to 255 of a-z A-Z 0-9 _ + . -, not beginning with . or -, found `%.64s`", o->id)
                        : 0;
        }
        if (getrandom(&random, sizeof random, 0) != sizeof random)
                return fail_errno(err, CODE_INTERNAL, errno, "", "cannot get random numbers");
        *ret = arena_printf(arena, "sandbox-%012jx", (uintmax_t)(random & 0xffffffffffff));
        return 0;
}

/* ---- the bundle --------------------------------------------------------------------------------------------------------- */

static int write_bundle(struct invocation *invocation, const struct sandbox_options *o, const struct sandbox_found *found,
        char *const *command, struct private_bundle *bundle, struct error *err) {
        _cleanup_str_ struct str text = { 0 };
        struct oci_config *config;
        int r = spec_sandbox(invocation->arena, o, found, command, &config, err);

        if (r < 0)
                return r;
        r = spec_encode(&oci_config_type, config, &text, 0, err);
        if (r < 0) {
                err->code = CODE_USAGE; /* a word of the command line that JSON cannot hold */
                return r;
        }
        return private_bundle_write_config(bundle, text.text, text.size, err);
}

/* All that is wrong with the request is known before anything is made. */
static int make_bundle(struct invocation *invocation, const struct sandbox_options *o, const char *id, char *const *command,
        struct private_bundle *bundle, struct error *err) {
        struct arena *arena = invocation->arena;
        struct sandbox_found found;
        struct oci_config *config;
        const char *place;
        int r;

        if ((r = private_bundle_place(arena, &place, err)) < 0 || (r = sandbox_look_up(invocation, o, place, &found, err)) < 0)
                return r;
        choose_terminal(o, command, &found);
        if ((r = spec_sandbox(arena, o, &found, command, &config, err)) < 0 || (r = sandbox_make_caches(&found, err)) < 0 ||
                (r = private_bundle_make(arena, invocation->root, id, bundle, err)) < 0 ||
                (!found.workspace_ino &&
                        (r = private_bundle_make_workspace(
                                 bundle, place, found.uid, found.gid, &found.workspace_dev, &found.workspace_ino, err)) < 0))
                return r;
        return write_bundle(invocation, o, &found, command, bundle, err);
}

/* ---- the run ------------------------------------------------------------------------------------------------------------ */

/* One line for a person, whatever the log is: what holds, and what is only looked at from time to time. */
static void tell_limits(const struct plan_plan *plan) {
        const struct sage_limits *limits = plan->sandbox ? plan->sandbox->limits : NULL;
        static const char *const states[] = { "not set", "hard", "sampled" };
        bool without = plan->cgroup->manager == PLAN_CGROUP_MANAGER_DISABLED;

        if (limits)
                dprintf(STDERR_FILENO, "sage-runtime: limits: cpu %s, memory %s, disk %s, processes %s%s\n", states[limits->cpu],
                        states[limits->memory], states[limits->disk], states[limits->process_count],
                        without ? ", without a cgroup (`sage-runtime check` tells what this host has)" : "");
}

static void tell_kept(const struct invocation *invocation, const char *id, const char *workspace) {
        dprintf(STDERR_FILENO, "sage-runtime: kept: sandbox %s (`delete %s`, --root %s)%s%s\n", id, id, invocation->root,
                workspace ? ", workspace " : "", workspace ?: "");
}

static int run_bundle(struct invocation *invocation, const struct sandbox_options *o, const char *id, const struct private_bundle *bundle,
        struct supervisor *supervisor, int *ret_status, struct error *err) {
        const struct create_options create = {
                .bundle = { .bundle = bundle->path },
                .keep = o->keep,
                .planned = o->quiet ? NULL : tell_limits,
        };

        return run_container(invocation, &create, id, supervisor, ret_status, err);
}

/* The bundle goes when nothing of the sandbox is there any more; what fails first is told. A workspace is kept only of a sandbox that ran. */
static int end_bundle(struct invocation *invocation, const struct sandbox_options *o, const char *id, struct private_bundle *bundle,
        int result, struct error *err) {
        const char *workspace = bundle->workspace;
        struct error second;
        bool keep = o->keep && result == 0;
        int r = 0;

        if (keep)
                r = private_bundle_keep_workspace(bundle, err);
        if (r == 0)
                r = private_bundle_remove(bundle, result < 0 ? &second : err);
        if (keep && r == 0 && !o->quiet)
                tell_kept(invocation, id, workspace);
        if (result < 0 && r < 0)
                err->effect = EFFECT_APPLIED;
        return result < 0 ? result : r;
}

static int run_sandbox(struct invocation *invocation, const struct sandbox_options *o, const char *id, char *const *command,
        struct supervisor *supervisor, int *ret_status, struct error *err) {
        _cleanup_private_bundle_ struct private_bundle bundle = PRIVATE_BUNDLE_NONE;
        int r = make_bundle(invocation, o, id, command, &bundle, err);

        if (r == 0)
                r = run_bundle(invocation, o, id, &bundle, supervisor, ret_status, err);
        return end_bundle(invocation, o, id, &bundle, r, err);
}

static int run(struct invocation *invocation, int argc, char **argv, int *ret_status, struct error *err) {
        _cleanup_supervisor_ struct supervisor supervisor = SUPERVISOR_NOT;
        struct sandbox_options o = { 0 };
        const char *id = NULL;
        char **command;
        int r;

        if ((r = command_parse(invocation, &command_sandbox, argc, argv, &o, 0, -1, &command, NULL, err)) < 0)
                return r;
        /* An ordinary user's sandbox maps the user's own id, who may write this file. Before descriptors are read and something is made, because
         * it begins anew. */
        if (geteuid() != 0 && (r = protect_binary(invocation->argv, err)) < 0)
                return r;
        const struct supervise_options supervise = {
                .timeout = o.timeout, .max_output = o.max_output_bytes, .result = o.result, .die_with_parent = o.die_with_parent
        };

        if ((r = check_options(&o, err)) < 0 || (r = choose_id(invocation->arena, &o, &id, err)) < 0 ||
                (r = supervise_options_read(&supervise, false, NULL, 0, &supervisor.asked, err)) < 0)
                return r;
        supervisor.asked.any = true; /* whatever ends it, all of it ends, and first */
        r = run_sandbox(invocation, &o, id, command, &supervisor, ret_status, err);
        return supervise_finish(&supervisor, invocation->arena, id, r, ret_status, err);
}

const struct command command_sandbox = {
        "sandbox",
        "[COMMAND…]",
        "run a command in a strict sandbox of its own, which is removed afterwards",
        run,
        options,
        ELEMENTSOF(options),
        125,
        OPTIONS_BEFORE_OPERAND,
        true,
};
