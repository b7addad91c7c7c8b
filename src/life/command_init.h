/* One command of a sandbox, the bundle's process or an exec, from the clone to its program. It has a PID namespace of its own within the
 * sandbox's: it can name neither the sandbox's process 1 nor another command, and killing its init ends exactly what belongs to it, also
 * where there is no cgroup.
 *
 *   runtime ── clone into the leaf ──► door: joins the sandbox ── clone3 ──► init of the command ── fork ──► program
 *
 * The door opener is there because the kernel makes a PID namespace only as a child of the one that the maker is in itself (kernel/
 * pid_namespace.c, copy_pid_ns()), and no process changes that after its birth. It ends as soon as the init is there. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "life/child.h"
#include "life/payload.h"

struct command {
        const struct plan_plan *plan;
        struct payload *payload;
        struct child *first; /* of the bundle's process: its gate and its hooks; NULL for an exec */
        uint64_t namespaces; /* those of the sandbox that are left to join (CLONE_NEW*) */
        int sandbox;         /* pidfd of the sandbox's process 1; closed */
        int sync;            /* to the runtime */
        int ended;           /* pipe that gets the program's status (wait(2)) when it has ended; -1: none */
        bool dies_with_us;   /* when the runtime ends, whatever ends it */
};

/* In the child that was cloned into the sandbox's PID namespace and the command's leaf. An exec's init is a child of the runtime, which takes
 * its status; that of the bundle's process is left to the sandbox's process 1. The runtime hears REPORT_BORN from the init, then REPORT_READY,
 * and says TOKEN_GO. */
__attribute__((noreturn)) void command_main(struct command *command);
