/* What run and exec are asked about a command that they stay with: a time limit, a limit on its output, whose end is its end, and a record of
 * how it went. */
#pragma once

#include "cmd/command.h"
#include "life/supervise.h"

struct supervise_options {
        const char *timeout, *max_output, *result;
        bool die_with_parent;
};

/* in: struct of the command's options, which has one of these as its member SUPERVISE. */
#define SUPERVISE_OPTION_ROWS(in) \
        { "timeout", 0, OPTION_TEXT, offsetof(struct in, supervise.timeout), "end it after so long (5s, 1m30s, 0.5): exit status 124" }, \
                { "max-output-bytes", 0, OPTION_TEXT, offsetof(struct in, supervise.max_output), \
                        "pass on so much of stdout and stderr together; the rest is read and dropped" }, \
                { "die-with-parent", 0, OPTION_FLAG, offsetof(struct in, supervise.die_with_parent), \
                        "end it when the process that called this one is gone, or this one is killed" }, \
        { \
                "result", 0, OPTION_TEXT, offsetof(struct in, supervise.result), \
                        "write a record of how it ended: a file, or fd:N for an open descriptor" \
        }

/* Reads them, and opens where the record goes before anything is touched. A command of which nobody hears the end (detach), and the output of
 * a terminal that is somebody else's (console_socket), are refused. preserve_fds: those below belong to the command. */
int supervise_options_read(const struct supervise_options *o, bool detach, const char *console_socket, unsigned preserve_fds,
        struct supervision *ret, struct error *err);

/* What the policy of PLAN's sandbox limits besides: the tighter of the two counts. console_socket: as above. */
int supervise_policy(const struct plan_plan *plan, const char *console_socket, struct supervision *s, struct error *err);
