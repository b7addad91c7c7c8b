/* What kill_at_every_call and fail_at_every_call have in common: the commands, tracing one of them, and looking for what it left. Only the
 * runtime itself or its child is traced: whatever else there is goes on as fast as it can.
 *
 * Needs ptrace(2), root, a cgroup v2 view, an empty --root, and a bundle whose program waits. */
#pragma once

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ID "killed"

enum { FAILURES_MAX = 20, PATIENCE_MS = 10000 };

static const char *runtime, *root, *bundle;
static int failures, errors = -1; /* a file for what a runtime says, or -1 */
static int earlier;               /* EARLIER in the environment: how many processes create and run make and end before that */
static bool helper;               /* HELPER in the environment: only the first of those is meant */
static bool alone;                /* ALONE: only the runtime itself */

/* What a command needs to be there before, and itself. NULL: ends the list. */
static const struct command {
        const char *name, *before[6], *words[10];
        int generation; /* 0: the runtime is meant, 1: its child, 2: what that makes */
} commands[] = {
        { "create", { NULL }, { "create", "--bundle", "", ID, NULL } },
        { "run", { NULL }, { "run", "--detach", "--bundle", "", ID, NULL } },
        { "start", { "create", "--bundle", "", ID, NULL }, { "start", ID, NULL } },
        { "exec", { "run", "--detach", "--bundle", "", ID, NULL }, { "exec", ID, "true", NULL } },
        { "kill", { "run", "--detach", "--bundle", "", ID, NULL }, { "kill", ID, "KILL", NULL } },
        { "delete", { "create", "--bundle", "", ID, NULL }, { "delete", "--force", ID, NULL } },
        { "sandbox", { NULL }, { "sandbox", "--uid", "1001", "--gid", "1001", "--id", ID, "--quiet", "true", NULL } },
        { "the child of create", { NULL }, { "create", "--bundle", "", ID, NULL }, 1 },
        { "the child of run", { NULL }, { "run", "--detach", "--bundle", "", ID, NULL }, 1 },
        { "the child of exec", { "run", "--detach", "--bundle", "", ID, NULL }, { "exec", "--detach", ID, "true", NULL }, 1 },
        { "what an usher of create made", { NULL }, { "create", "--bundle", "", ID, NULL }, 2 },
        { "what an usher of run made", { NULL }, { "run", "--detach", "--bundle", "", ID, NULL }, 2 },
        { "what an usher of exec made", { "run", "--detach", "--bundle", "", ID, NULL }, { "exec", "--detach", ID, "true", NULL }, 2 },
};

static void not_here(const char *why) {
        printf("1..0 # SKIP %s: %s\n", why, strerror(errno));
        exit(77);
}

/* In a new process: becomes the runtime, "" in WORDS standing for the bundle. */
__attribute__((noreturn)) static void become(const char *const *words, bool traced) {
        const char *argv[14] = { runtime, "--root", root };
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);

        for (int n = 3; *words; words++)
                argv[n++] = **words ? *words : bundle;
        dup2(null, 0);
        dup2(null, 1);
        if (errors >= 0 || !getenv("SHOW"))
                dup2(errors >= 0 ? errors : null, 2);
        if (traced && ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
                _exit(126);
        execv(runtime, (char *const *)argv);
        _exit(127);
}

static void pause_ms(int ms) {
        nanosleep(&(struct timespec){ .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L }, NULL);
}

/* Its exit status, or -1 after PATIENCE_MS. Reaps what others left as well: a pid namespace does not end before all in it are reaped, and
 * the orphans of an exec are our children. */
static int status_of(pid_t pid) {
        pid_t ended;
        int status;

        for (int ms = 0; ms < PATIENCE_MS; ms += ms < 20 ? 1 : 10) {
                while ((ended = waitpid(-1, &status, WNOHANG)) > 0 && ended != pid)
                        ;
                if (ended == pid)
                        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
                pause_ms(ms < 20 ? 1 : 10);
        }
        kill(pid, SIGKILL);
        waitpid(pid, &status, 0);
        return -1;
}

static int run(const char *const *words) {
        pid_t pid = fork();

        if (pid == 0)
                become(words, false);
        return status_of(pid);
}

/* Starts the command, stopped at its exec. */
static pid_t start_traced(const char *const *words) {
        pid_t pid = fork();
        int status;

        if (pid == 0)
                become(words, true);
        if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
                not_here("cannot trace");
        ptrace(PTRACE_SETOPTIONS, pid, NULL,
                PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC | PTRACE_O_TRACEFORK | PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL);
        return pid;
}

static bool is_event(int status, int event) {
        return status >> 8 == (SIGTRAP | event << 8);
}

/* Lets TRACED go on, untraced, once it has made a process after SKIP others, and returns that one, stopped. A program that executes itself again
 * (life/protect.h) may have made some of those before and makes them again: they count from there. -1: it made none,
 * or, UNTIL_EXEC, became another program before. */
static pid_t child_of(pid_t traced, int skip, bool until_exec) {
        const int all = skip;
        unsigned long child;
        int status, deliver = 0;

        for (;;) {
                if (ptrace(PTRACE_CONT, traced, NULL, deliver) < 0 || waitpid(traced, &status, 0) != traced || !WIFSTOPPED(status))
                        return -1;
                if (is_event(status, PTRACE_EVENT_FORK) || is_event(status, PTRACE_EVENT_CLONE)) {
                        ptrace(PTRACE_GETEVENTMSG, traced, NULL, &child);
                        waitpid((pid_t)child, &status, __WALL);
                        if (skip-- == 0)
                                break;
                        ptrace(PTRACE_DETACH, (pid_t)child, NULL, NULL);
                        deliver = 0;
                        continue;
                }
                if (until_exec && is_event(status, PTRACE_EVENT_EXEC)) {
                        ptrace(PTRACE_DETACH, traced, NULL, NULL);
                        return -1;
                }
                if (is_event(status, PTRACE_EVENT_EXEC))
                        skip = all;
                deliver = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
        }
        ptrace(PTRACE_DETACH, traced, NULL, NULL);
        return (pid_t)child;
}

static int mounts(void) {
        FILE *file = fopen("/proc/self/mountinfo", "re");
        int c, lines = 0;

        while (file && (c = getc(file)) != EOF)
                lines += c == '\n';
        if (file)
                fclose(file);
        return lines;
}

static bool is_empty(const char *path) {
        DIR *dir = opendir(path);
        int n = 0;

        while (dir && readdir(dir))
                n++;
        if (dir)
                closedir(dir);
        return n <= 2;
}

/* Whatever lost its parent is our child (PR_SET_CHILD_SUBREAPER): all of them have to end by themselves. */
static bool nobody_is_left(char *name, size_t size) {
        siginfo_t info;

        for (int ms = 0; ms < 1000; ms++) {
                while (waitpid(-1, NULL, WNOHANG) > 0)
                        ;
                if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 && errno == ECHILD)
                        return true;
                pause_ms(1);
        }
        snprintf(name, size, "pgrep -lP %d >&2; pkill -KILL -P %d", getpid(), getpid());
        (void)!system(name);
        while (waitpid(-1, NULL, 0) > 0)
                ;
        return false;
}

/* Waits until PID stops. False: it ended, or sleeps: a created container at its gate. */
static bool stops(pid_t pid, bool may_sleep, int *ret_status) {
        pid_t stopped;

        if (!may_sleep)
                return waitpid(pid, ret_status, __WALL) == pid && WIFSTOPPED(*ret_status);
        for (int tries = 0; (stopped = waitpid(pid, ret_status, __WALL | WNOHANG)) == 0 && tries < 20000; tries++)
                nanosleep(&(struct timespec){ .tv_nsec = 20000 }, NULL);
        return stopped == pid && WIFSTOPPED(*ret_status);
}

/* Of a process that is stopped before a system call. */
static int number_at(pid_t pid) {
#if defined(__x86_64__)
        return (int)ptrace(PTRACE_PEEKUSER, pid, offsetof(struct user_regs_struct, orig_rax), NULL);
#else
        int number = -1;
        struct iovec iov = { &number, sizeof number };

        ptrace(PTRACE_GETREGSET, pid, NT_ARM_SYSTEM_CALL, &iov);
        return number;
#endif
}

static bool is_poll(int number) {
#ifdef SYS_poll
        return number == SYS_poll;
#else
        return number == SYS_ppoll;
#endif
}

/* Lets PID go on to its system call number N, counted from 1, and leaves it stopped there. False: it ended before, or executed its
 * program. ret_in_main: whether main() has been reached, whose first call is poll(2); a child was made there. */
static bool reaches(pid_t pid, int n, bool until_exec, bool *ret_in_main) {
        bool entry = true, in_main = until_exec; /* stops come before and after a call, in turns */
        int calls = 0, status, deliver = 0;

        for (;;) {
                if (ptrace(PTRACE_SYSCALL, pid, NULL, deliver) < 0 || !stops(pid, until_exec, &status))
                        return false;
                deliver = 0;
                if (until_exec && is_event(status, PTRACE_EVENT_EXEC)) {
                        ptrace(PTRACE_DETACH, pid, NULL, NULL);
                        return false;
                }
                if (is_event(status, PTRACE_EVENT_FORK) || is_event(status, PTRACE_EVENT_CLONE)) { /* its children are none of ours */
                        unsigned long child;

                        ptrace(PTRACE_GETEVENTMSG, pid, NULL, &child);
                        waitpid((pid_t)child, &status, __WALL);
                        ptrace(PTRACE_DETACH, (pid_t)child, NULL, NULL);
                } else if (WSTOPSIG(status) == (SIGTRAP | 0x80)) {
                        if (entry && ++calls == n) {
                                *ret_in_main = in_main;
                                return true;
                        }
                        in_main |= entry && is_poll(number_at(pid));
                        entry = !entry;
                } else if (WSTOPSIG(status) != SIGTRAP)
                        deliver = WSTOPSIG(status);
                in_main &= until_exec || !is_event(status, PTRACE_EVENT_EXEC);
        }
}

/* The process that COMMAND is about, its system calls not yet made; the runtime itself is *ret_runtime. -1: it makes none. */
static pid_t start_generation(const struct command *command, pid_t *ret_runtime) {
        pid_t pid = *ret_runtime = start_traced(command->words);

        if (command->generation > 0)
                pid = child_of(pid, command->words[0][0] == 'e' ? 0 : earlier, false);
        return command->generation > 1 && pid > 0 ? child_of(pid, 0, true) : pid;
}

/* With SANDBOX in the environment only that; otherwise all commands but it and what an usher makes; with USHERS, which is among create, run and exec, only those, and what their ushers make. */
static bool is_wanted(const struct command *command, char *const *ushers) {
        if (getenv("SANDBOX") || strcmp(command->name, "sandbox") == 0)
                return getenv("SANDBOX") && strcmp(command->name, "sandbox") == 0;
        if ((helper && command->generation != 1) || (alone && command->generation != 0))
                return false;
        if (!*ushers)
                return command->generation < 2;
        while (*ushers && strcmp(command->words[0], *ushers) != 0)
                ushers++;
        return *ushers;
}

static void set_up(char **argv) {
        runtime = argv[1];
        root = argv[2];
        bundle = argv[3];
        earlier = getenv("EARLIER") ? atoi(getenv("EARLIER")) : 0;
        helper = getenv("HELPER");
        alone = getenv("ALONE");
        if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0 || geteuid() != 0 || access("/sys/fs/cgroup/cgroup.procs", W_OK) < 0)
                not_here("needs root and a cgroup v2 view");
        setvbuf(stdout, NULL, _IOLBF, 0);
}

static void print_plan(char *const *ushers, bool children_twice) {
        int n = 0;

        for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
                if (is_wanted(&commands[i], ushers))
                        n += children_twice && commands[i].generation ? 2 : 1;
        printf("1..%d\n", n);
}
