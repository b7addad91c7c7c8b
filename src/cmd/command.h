/* What every command gets: the global options, memory, and the words behind its name. */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "cmd/options.h"
#include "spec/plan.h"

struct invocation {
        struct arena *arena;
        char **argv;              /* the whole command line as it came, for protect_binary() */
        const char *root;         /* --root, or where it lies by default */
        const char *log, *log_format, *log_level, *criu, *rootless;
        const char *libexec;      /* --libexec, or NULL */
        const char *cgroup_manager_name;
        const char *host_policy;    /* --host-policy, or NULL */
        const char *sandbox_policy; /* --sandbox-policy, or NULL */
        enum plan_cgroup_manager cgroup_manager;
        bool debug, systemd_cgroup, version, help;
};

struct command {
        const char *name, *operands, *help;
        /* Returns 0 or a negative errno with ERR filled; ret_status is the exit status of a success (the payload's, for run and exec). */
        int (*run)(struct invocation *invocation, int argc, char **argv, int *ret_status, struct error *err);
        const struct option_row *options;
        uint8_t n_options;
        uint8_t failure_status;   /* when the runtime itself fails: 1, but 255 for exec, whose 1 could be the program's */
        uint8_t order;            /* enum option_order */
        bool as_a_shell;          /* 127 when the program is not there, 126 when it cannot be executed */
};

/* In the order that help lists them. */
extern const struct command *const commands[];
extern const unsigned n_commands;

/* Parses the options of COMMAND into INTO and checks the count of operands (max < 0: any). */
int command_parse(struct invocation *invocation, const struct command *command, int argc, char **argv, void *into, int min, int max,
                  char ***ret_operands, int *ret_n, struct error *err);

/* Prints TEXT, all of it. what: "the plan", for the error. */
int command_print(const struct str *text, const char *what, struct error *err);
