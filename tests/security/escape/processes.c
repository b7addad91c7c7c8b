/* Other processes: what a payload's own uid would let it do to process 1, its parent and other commands. */
#define _GNU_SOURCE
#include "attempt.h"

#include <errno.h>
#include <linux/ioprio.h>
#include <linux/kcmp.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

_Alignas(4096) static char here[4096];
static char there[8];
static struct iovec local = { there, sizeof there }, remote = { here, sizeof there }, page = { here, sizeof here };
static unsigned long first_node = 1;
static struct rlimit limit;
static cpu_set_t cpus;
static struct sched_param no_priority;
/* struct sched_attr of linux/sched/types.h, which quarrels with sched.h */
static struct {
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime, deadline, period;
} attributes = { .size = sizeof attributes };
static int self = -1;

static long know_limits(void) {
        return getrlimit(RLIMIT_CORE, &limit) | sched_getaffinity(0, sizeof cpus, &cpus);
}

/* To be nicer is everybody's right, to be less nice is not. */
static long know_niceness(void) {
        attributes.nice = getpriority(PRIO_PROCESS, 0);
        return 0;
}

static long open_self(void) {
        return self = (int)syscall(SYS_pidfd_open, getpid(), 0);
}

static long attach_to_a_child(const struct attempt *attempt) {
        pid_t child = fork();
        long r;

        (void)attempt;
        if (child == 0)
                for (;;)
                        pause();
        r = ptrace(PTRACE_SEIZE, child, NULL, NULL);
        (void)!kill(child, SIGKILL);
        return r;
}

/* RAW: with this process in place of the one that ARGS names first. */
static long to_oneself(const struct attempt *a) {
        return syscall(a->number, getpid(), a->args[1], a->args[2], a->args[3], a->args[4], a->args[5]);
}

static long with_a_pidfd(const struct attempt *a) {
        return syscall(a->number, self, a->args[1], a->args[2], a->args[3], a->args[4], a->args[5]);
}

static long compare_with_parent(const struct attempt *attempt) {
        (void)attempt;
        return syscall(SYS_kcmp, getpid(), getppid(), KCMP_FILE, 0, 0) < 0 ? -1 : 0;
}

#define ON_PARENT 1 /* process 1 of the namespace, which is what a sandbox's payload would be after */
#define NICE_0 0
#define NICEST 19
#define BEST_EFFORT_4 IOPRIO_PRIO_VALUE(IOPRIO_CLASS_BE, 4)

static const struct attempt rows[] = {
        { "ptrace(PTRACE_TRACEME)", CALL(SYS_ptrace, PTRACE_TRACEME), .refused = STRICT },
        { "ptrace(PTRACE_SEIZE) on a child", attach_to_a_child, .refused = STRICT },
        { "process_vm_readv", .make = to_oneself, .number = SYS_process_vm_readv, .args = { 0, POINTER(&local), 1, POINTER(&remote), 1 },
                .refused = STRICT },
        { "process_vm_writev", .make = to_oneself, .number = SYS_process_vm_writev, .args = { 0, POINTER(&local), 1, POINTER(&remote), 1 },
                .refused = STRICT },
        { "process_madvise", with_a_pidfd, open_self, .number = SYS_process_madvise, .args = { 0, POINTER(&page), 1, MADV_COLD },
                .refused = STRICT },
        { "pidfd_getfd", with_a_pidfd, open_self, .number = SYS_pidfd_getfd, .args = { 0, 1 }, .refused = SOCKETS },
        { "kcmp with the parent", compare_with_parent, .refused = STRICT },
        { "move_pages", CALL(SYS_move_pages, ON_PARENT, 0, 0, 0, 0), .refused = STRICT },
        { "migrate_pages", CALL(SYS_migrate_pages, ON_PARENT, 8, POINTER(&first_node), POINTER(&first_node)), .refused = STRICT },

        { "prlimit64 that sets a limit of process 1", CALL(SYS_prlimit64, ON_PARENT, RLIMIT_CORE, POINTER(&limit), 0),
                .prepare = know_limits, .refused = STRICT },
        { "prlimit64 that sets a limit of process 1, with a bit above the pid",
                CALL(SYS_prlimit64, HIGH | ON_PARENT, RLIMIT_CORE, POINTER(&limit), 0), .prepare = know_limits, .refused = STRICT },
        { "prlimit64 that reads a limit of its own", CALL(SYS_prlimit64, 0, RLIMIT_CORE, 0, POINTER(&limit)), .anybody = true },
        { "prlimit64 that reads a limit of its own by pid", .make = to_oneself, .number = SYS_prlimit64,
                .args = { 0, RLIMIT_CORE, 0, POINTER(&limit) }, .anybody = true },
        { "prlimit64 that sets a limit of its own", CALL(SYS_prlimit64, 0, RLIMIT_CORE, POINTER(&limit), 0), .prepare = know_limits,
                .anybody = true },
        { "prlimit64 that sets a limit of its own by pid", .make = to_oneself, know_limits, .number = SYS_prlimit64,
                .args = { 0, RLIMIT_CORE, POINTER(&limit), 0 }, .refused = STRICT },

        { "sched_setaffinity of process 1", CALL(SYS_sched_setaffinity, ON_PARENT, sizeof cpus, POINTER(&cpus)), .prepare = know_limits,
                .refused = STRICT },
        { "sched_setaffinity of oneself", CALL(SYS_sched_setaffinity, 0, sizeof cpus, POINTER(&cpus)), .prepare = know_limits,
                .anybody = true },
        { "sched_setscheduler of process 1", CALL(SYS_sched_setscheduler, ON_PARENT, SCHED_OTHER, POINTER(&no_priority)),
                .refused = STRICT },
        { "sched_setscheduler of oneself", CALL(SYS_sched_setscheduler, 0, SCHED_OTHER, POINTER(&no_priority)), .anybody = true },
        { "sched_setparam of process 1", CALL(SYS_sched_setparam, ON_PARENT, POINTER(&no_priority)), .refused = STRICT },
        { "sched_setparam of oneself", CALL(SYS_sched_setparam, 0, POINTER(&no_priority)), .anybody = true },
        { "sched_setattr of process 1", CALL(SYS_sched_setattr, ON_PARENT, POINTER(&attributes), 0), .refused = STRICT },
        { "sched_setattr of oneself", CALL(SYS_sched_setattr, 0, POINTER(&attributes), 0), .prepare = know_niceness, .anybody = true },
        { "setpriority of process 1", CALL(SYS_setpriority, PRIO_PROCESS, ON_PARENT, NICE_0), .refused = STRICT },
        { "setpriority of another group", CALL(SYS_setpriority, PRIO_PGRP, ON_PARENT, NICE_0), .refused = STRICT, .or = ESRCH },
        { "setpriority of all processes of one's uid", CALL(SYS_setpriority, PRIO_USER, 0, NICE_0), .refused = STRICT },
        { "setpriority of oneself", CALL(SYS_setpriority, PRIO_PROCESS, 0, NICEST), .anybody = true },
        { "setpriority of one's own group", CALL(SYS_setpriority, PRIO_PGRP, 0, NICEST), .anybody = true },
        { "ioprio_set of process 1", CALL(SYS_ioprio_set, IOPRIO_WHO_PROCESS, ON_PARENT, BEST_EFFORT_4), .refused = STRICT },
        { "ioprio_set of another group", CALL(SYS_ioprio_set, IOPRIO_WHO_PGRP, ON_PARENT, BEST_EFFORT_4), .refused = STRICT, .or = ESRCH },
        { "ioprio_set of all processes of one's uid", CALL(SYS_ioprio_set, IOPRIO_WHO_USER, 0, BEST_EFFORT_4), .refused = STRICT },
        { "ioprio_set of oneself", CALL(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, BEST_EFFORT_4), .anybody = true },
};

const struct attempts attempts_on_processes = { "processes", rows, ELEMENTSOF(rows) };
