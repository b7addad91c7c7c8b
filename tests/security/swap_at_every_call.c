/* swap_at_every_call RUNTIME ROOT BUNDLE WORKSPACE LINK TARGET: `run` of BUNDLE, a strict sandbox that makes a file "touched" in WORKSPACE; before one
 * of the system calls that look a path up, each in its turn, in the runtime and in the process that becomes the sandbox, WORKSPACE and LINK, a
 * symlink to TARGET, are exchanged. TARGET must never get the file, whoever owns it: either the sandbox is not made, or the directory that
 * was looked at gets it. Prints TAP. calls.h says what it needs. */
#define _GNU_SOURCE
#include "calls.h"

#include <sys/stat.h>

enum { CALLS_MAX = 8192 };

/* Between two of these nothing that they see can change. */
static bool looks_up(int number) {
        static const int numbers[] = {
                SYS_openat,
                SYS_openat2,
                SYS_newfstatat,
                SYS_statx,
                SYS_readlinkat,
                SYS_open_tree,
                SYS_move_mount,
                SYS_mount_setattr,
                SYS_faccessat,
                SYS_faccessat2,
                SYS_mount,
                SYS_chdir,
                SYS_execve,
                467, /* open_tree_attr */
#ifdef SYS_open
                SYS_open,
                SYS_stat,
                SYS_lstat,
                SYS_access,
                SYS_readlink,
#endif
        };

        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
                if (numbers[i] == number)
                        return true;
        return false;
}

static const char *const words[] = { "run", "--bundle", "", ID, NULL };

/* The process that is meant: the runtime, or its first child. */
static pid_t begin(bool child, pid_t *ret_runtime) {
        *ret_runtime = start_traced(words);
        return child ? child_of(*ret_runtime, 0, false) : *ret_runtime;
}

/* Which calls look something up, counted from 1. */
static int record(bool child, int *at) {
        pid_t runtime_pid, pid = begin(child, &runtime_pid);
        bool entry = true;
        int calls = 0, n = 0, status, deliver = 0;

        while (pid > 0 && ptrace(PTRACE_SYSCALL, pid, NULL, deliver) == 0 && waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status)) {
                deliver = 0;
                if (is_event(status, PTRACE_EVENT_FORK) || is_event(status, PTRACE_EVENT_CLONE)) {
                        unsigned long made;

                        ptrace(PTRACE_GETEVENTMSG, pid, NULL, &made);
                        waitpid((pid_t)made, &status, __WALL);
                        ptrace(PTRACE_DETACH, (pid_t)made, NULL, NULL);
                } else if (WSTOPSIG(status) == (SIGTRAP | 0x80)) {
                        if (entry && ++calls && looks_up(number_at(pid)) && n < CALLS_MAX)
                                at[n++] = calls;
                        entry = !entry;
                } else if (WSTOPSIG(status) != SIGTRAP)
                        deliver = WSTOPSIG(status);
        }
        if (child && status_of(runtime_pid) != 0)
                not_here("the sandbox does not run");
        return n;
}

static bool has(const char *directory) {
        char path[4096];
        bool there;

        snprintf(path, sizeof path, "%s/touched", directory);
        there = access(path, F_OK) == 0;
        unlink(path);
        return there;
}

static void try_at(bool child, int n, const char *workspace, const char *link, const char *target) {
        pid_t runtime_pid, pid = begin(child, &runtime_pid);
        bool in_main, swapped = pid > 0 && reaches(pid, n, child, &in_main);
        int status;

        if (swapped && renameat2(AT_FDCWD, workspace, AT_FDCWD, link, RENAME_EXCHANGE) < 0)
                not_here("cannot exchange");
        if (swapped)
                ptrace(PTRACE_DETACH, pid, NULL, NULL);
        /* It waits for its sandbox more often one time than another: one that ended before call N did so before our eyes. */
        status = swapped || child ? status_of(runtime_pid) : 0;
        if (has(target) && failures++ < FAILURES_MAX)
                printf("# swapped before call %d of the %s: the symlink won\n", n, child ? "child" : "runtime");
        if (!has(swapped ? link : workspace) && status == 0 && failures++ < FAILURES_MAX)
                printf("# swapped before call %d of the %s: it ran, and not in the workspace\n", n, child ? "child" : "runtime");
        if (status != 0 && status != 1 && failures++ < FAILURES_MAX)
                printf("# swapped before call %d of the %s: exit status %d\n", n, child ? "child" : "runtime", status);
        if (swapped && renameat2(AT_FDCWD, workspace, AT_FDCWD, link, RENAME_EXCHANGE) < 0)
                not_here("cannot exchange back");
}

int main(int argc, char **argv) {
        static int at[CALLS_MAX];
        int total = 0;

        if (argc != 7)
                return 2;
        set_up(argv);
        for (int child = 0; child < 2; child++) {
                int n = record(child, at);

                for (int i = 0; i < n && failures < FAILURES_MAX; i++)
                        try_at(child, at[i], argv[4], argv[5], argv[6]);
                total += n;
        }
        printf("1..1\n%sok 1 - the workspace is exchanged for a symlink before each of %d system calls that look something up\n",
                failures ? "not " : "", total);
        return failures || total < 50;
}
