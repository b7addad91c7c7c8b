/* sage-runtime: reads the global options, finds the command in a table, runs it, and reports one error. */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/libexec.h"
#include "base/log.h"
#include "base/str.h"
#include "cmd/command.h"
#include "facts/facts.h"
#include "version.h"

static const struct option_row global_options[] = {
        { "root", 0, OPTION_TEXT, offsetof(struct invocation, root),
          "directory for the state of containers (root: /run/sage-runtime, others: $XDG_RUNTIME_DIR/sage-runtime)" },
        { "log", 0, OPTION_TEXT, offsetof(struct invocation, log), "where messages go: a file (also file:PATH), journald:NAME or syslog:NAME; stderr by default" },
        { "log-format", 0, OPTION_TEXT, offsetof(struct invocation, log_format), "text (default) or json" },
        { "log-level", 0, OPTION_TEXT, offsetof(struct invocation, log_level), "error, warning (default), info or debug" },
        { "debug", 0, OPTION_FLAG, offsetof(struct invocation, debug), "the same as --log-level debug" },
        { "systemd-cgroup", 0, OPTION_FLAG, offsetof(struct invocation, systemd_cgroup),
          "the same as --cgroup-manager systemd: not there yet, refused" },
        { "cgroup-manager", 0, OPTION_TEXT, offsetof(struct invocation, cgroup_manager_name),
          "cgroupfs (default), or disabled: no cgroup and no limits; systemd is not there yet" },
        { "libexec", 0, OPTION_TEXT, offsetof(struct invocation, libexec), "directory of our helper programs; by default where they were installed" },
        { "sandbox-policy", 0, OPTION_TEXT, offsetof(struct invocation, sandbox_policy), "rules over every bundle's sage.* annotations: the name of an administrator's policy, or a path" },
        { "host-policy", 0, OPTION_TEXT, offsetof(struct invocation, host_policy), "another file than /etc/sage-runtime/host.json; named policies lie in policies/ beside it" },
        { "rootless", 0, OPTION_TEXT, offsetof(struct invocation, rootless), "true, false or auto: without effect, who we are is asked of the kernel" },
        { "criu", 0, OPTION_TEXT, offsetof(struct invocation, criu), "ignored, with a warning" },
        { "version", 'V', OPTION_FLAG, offsetof(struct invocation, version), NULL },
        { "version", 'v', OPTION_FLAG, offsetof(struct invocation, version), "print the version" },
        { "help", 'h', OPTION_FLAG, offsetof(struct invocation, help), "print this help" },
};

static int print_version(void) {
        printf("sage-runtime version %s\ncommit: %s\nspec: 1.3.0\n", SAGE_VERSION, SAGE_COMMIT);
        return 0;
}

static int print_help(void) {
        printf("usage: sage-runtime [global options] COMMAND [options] [operands]\n\nCommands:\n");
        for (unsigned i = 0; i < n_commands; i++)
                printf("  %-10s %s\n", commands[i]->name, commands[i]->help);
        printf("\nGlobal options:\n");
        options_help(global_options, ELEMENTSOF(global_options));
        printf("\n`sage-runtime COMMAND --help` prints the options of a command.\n");
        return 0;
}

static int print_command_help(const struct command *command) {
        printf("usage: sage-runtime %s%s%s%s\n\n%s\n", command->name, command->n_options ? " [options]" : "", *command->operands ? " " : "",
               command->operands, command->help);
        if (command->n_options)
                printf("\nOptions:\n");
        options_help(command->options, command->n_options);
        return 0;
}

/* The index of NAME in NAMES, or an error that lists them. */
static int choose(const char *option, const char *name, const char *const *names, size_t n, struct error *err) {
        _cleanup_str_ struct str list = { 0 };

        for (size_t i = 0; i < n; i++) {
                if (streq(name, names[i]))
                        return (int)i;
                str_printf(&list, "%s%s", i == 0 ? "" : i + 1 == n ? " or " : ", ", names[i]);
        }
        return fail(err, CODE_USAGE, EINVAL, option, "expected %s, found `%s`", list.text, name);
}

static int open_log(const struct invocation *inv, struct error *err) {
        static const char *const formats[] = { "text", "json" }, *const levels[] = { "error", "warning", "info", "debug" };
        int format = inv->log_format ? choose("--log-format", inv->log_format, formats, ELEMENTSOF(formats), err) : 0;
        int level = inv->log_level ? choose("--log-level", inv->log_level, levels, ELEMENTSOF(levels), err) : LOG_LEVEL_WARNING, r;

        if (format < 0 || level < 0)
                return -EINVAL;
        r = log_open(inv->log, format == 1, inv->debug ? LOG_LEVEL_DEBUG : (enum log_level)level, err);
        if (r == 0 && inv->criu)
                log_message(LOG_LEVEL_WARNING, "--criu is ignored");
        return r;
}

/* Where the state of containers is when nobody says. The host's root has it below /run whoever's session he came from; uid 0 of a user
 * namespace (rootless podman, rootlesskit) is an ordinary user of the host. Of whom su(1), sudo(8) and cron(8) do not set the
 * variable, the session's directory is still known, if he has one. */
static const char *default_root(struct arena *arena) {
        const char *runtime_dir = getenv("XDG_RUNTIME_DIR");
        bool given = runtime_dir && *runtime_dir == '/', initial = true;

        if (geteuid() == 0) {
                if (given)
                        (void)facts_initial_userns(&initial);
                if (initial)
                        return "/run/sage-runtime";
        } else if (!given) {
                runtime_dir = arena_printf(arena, "/run/user/%u", geteuid());
                given = access(runtime_dir, W_OK | X_OK) == 0;
        }
        return given ? arena_printf(arena, "%s/sage-runtime", runtime_dir) : "/run/sage-runtime";
}

static int settle(struct invocation *inv, struct error *err) {
        static const char *const managers[] = { "cgroupfs", "systemd", "disabled" }, *const answers[] = { "true", "false", "auto", "1", "0" };
        int manager = 0, r;

        if (inv->libexec && inv->libexec[0] != '/')
                return fail(err, CODE_USAGE, EINVAL, "--libexec", "expected an absolute path, found `%s`", inv->libexec);
        if (inv->libexec)
                libexec_use(inv->libexec);
        if (inv->rootless && (r = choose("--rootless", inv->rootless, answers, ELEMENTSOF(answers), err)) < 0)
                return r;
        if (inv->cgroup_manager_name && (manager = choose("--cgroup-manager", inv->cgroup_manager_name, managers, ELEMENTSOF(managers), err)) < 0)
                return manager;
        inv->cgroup_manager = inv->systemd_cgroup ? PLAN_CGROUP_MANAGER_SYSTEMD : (enum plan_cgroup_manager)(PLAN_CGROUP_MANAGER_CGROUPFS + manager);
        if (!inv->root)
                inv->root = default_root(inv->arena);
        return 0;
}

static const struct command *find_command(const char *name) {
        for (unsigned i = 0; i < n_commands; i++)
                if (streq(commands[i]->name, name))
                        return commands[i];
        return NULL;
}

static bool asks_for_help(int argc, char **argv) {
        return argc > 1 && (streq(argv[1], "--help") || streq(argv[1], "-h"));
}

/* Returns the exit status. */
static int run(struct invocation *inv, int argc, char **argv, struct error *err, int *ret_failure_status) {
        const struct command *command;
        char **operands;
        int n, r, status = 0;

        r = options_parse(inv->arena, global_options, ELEMENTSOF(global_options), OPTIONS_BEFORE_OPERAND, argc, argv, inv, &operands, &n, err);
        if (r < 0)
                return r;
        if (inv->version)
                return print_version();
        if (inv->help)
                return print_help();
        if (n == 0)
                return fail(err, CODE_USAGE, EINVAL, "", "no command given; sage-runtime --help lists them");
        command = find_command(operands[0]);
        if (!command)
                return fail(err, CODE_USAGE, EINVAL, "", "unknown command `%s`; sage-runtime --help lists them", operands[0]);
        if (asks_for_help(n, operands))
                return print_command_help(command);
        *ret_failure_status = command->failure_status;
        if ((r = open_log(inv, err)) < 0 || (r = settle(inv, err)) < 0)
                return r;
        r = command->run(inv, n, operands, &status, err);
        if (r < 0 && err->code == CODE_INTERRUPTED)
                *ret_failure_status = status;
        if (r < 0 && err->code == CODE_EXECUTABLE_UNAVAILABLE && command->as_a_shell)
                *ret_failure_status = err->errnum == ENOENT ? 127 : 126;
        return r < 0 ? r : status;
}

/* Where our caller closed a standard stream, the first descriptors that we open would get its number: what is written for a person, by us
 * or by a hook, would go there, and a terminal would take its place. */
static void fill_standard_streams(void) {
        struct pollfd fds[] = { { .fd = STDIN_FILENO }, { .fd = STDOUT_FILENO }, { .fd = STDERR_FILENO } };

        if (poll(fds, ELEMENTSOF(fds), 0) <= 0)
                return;
        for (size_t i = 0; i < ELEMENTSOF(fds); i++)
                if (fds[i].revents & POLLNVAL)
                        (void)!open("/dev/null", O_RDWR | O_CLOEXEC); /* gets the lowest free number, which is this one */
}

int main(int argc, char **argv) {
        _cleanup_arena_ struct arena arena = { 0 };
        struct invocation invocation = { .arena = &arena };
        struct error err = { 0 };
        int failure_status = 1, r;

        fill_standard_streams();
        signal(SIGCHLD, SIG_DFL); /* where our caller ignores it, the kernel reaps hooks and containers, and nobody learns how they ended */
        mallopt(M_TOP_PAD, 256 << 10); /* one brk(2) for all that a launch needs; what is not used costs no memory */
        invocation.argv = arena_array(&arena, char *, (size_t)argc + 1);
        memcpy(invocation.argv, argv, sizeof *argv * (size_t)argc);
        r = run(&invocation, argc, argv, &err, &failure_status);
        if (r < 0) {
                log_error(&err);
                return failure_status;
        }
        return fflush(stdout) == 0 ? r : 1;
}
