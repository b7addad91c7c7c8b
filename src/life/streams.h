/* The standard streams of a command in a strict sandbox. A payload can open what they are once more, through /proc/self/fd, and with other rights
 * than its caller gave: a file of the host's that it owns could be written, a directory be a way out, a socket reach whoever listens. */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "spec/plan.h"

struct streams_use {
        unsigned preserved; /* --preserve-fds and the like */
        bool stays;         /* this runtime waits for the command, and can stand between it and a file */
        bool relayed;       /* it does so already for standard output and error */
};

/* Before anything was touched: CODE_CONFIG_INVALID with process.stdin, process.stdout or process.stderr where one may not be handed in. A
 * terminal of PROCESS takes the place of all three. Where standard input is a file, this process has a pipe in its place afterwards, which a
 * child fills from that file and which ends with us. */
int streams_check(const struct plan_process *process, const struct streams_use *use, struct error *err);
