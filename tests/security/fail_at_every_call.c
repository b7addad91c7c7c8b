/* fail_at_every_call RUNTIME ROOT BUNDLE PASSES [USHER]...: makes one system call of create, run, start, exec, kill and delete fail, and of the process that
 * create, run and exec make in the container, one after the other: the call is not made, and one of errnums[] is what the runtime gets to
 * see of it. In the last pass calls that change something outside (claims are among them) are made, and told to have failed. Then the
 * command
 *
 * - either fails: it says why, exits with 1 (exec with 255), and create and run leave nothing behind at all, unless what failed was done;
 * - or succeeds, where the call is one of those in may_fail[], each with the reason why. No call that makes the container a fence is.
 *
 * And after each, `delete --force` must leave nothing. Prints TAP. calls.h says what it needs. */
#define _GNU_SOURCE
#include "calls.h"

#include <seccomp.h>
#include <sys/mman.h>

/* Not tried: what cannot fail by its manual page. */
static const char *const never_fail[] = { "exit", "exit_group", "close", "getpid", "getppid", "gettid", "getuid", "geteuid", "getgid",
        "getegid", "umask", "brk", "munmap", "rt_sigreturn" };

/* Nor is a SIGKILL to a child of one's own, which is then waited for. */
static bool kills_a_child(const struct command *command, const char *name) {
        return strcmp(name, "pidfd_send_signal") == 0 &&
                (strcmp(command->words[0], "create") == 0 || strcmp(command->words[0], "run") == 0);
}

/* Each call gets two of them, in two passes. */
static const int errnums[] = { EIO, EPERM, ENOMEM, ENOSPC };

enum { PASSES = 3, LAST = PASSES - 1 };

/* In the last pass: what stays on the host. */
static const char *const changing[] = { "mkdir", "mkdirat", "mknodat", "symlinkat", "rmdir", "unlinkat", "renameat", "write", "bind", "bpf",
        "sendto", "sendmsg" };

static const struct exemption {
        bool child;
        const char *name, *why, *command; /* NULL: any */
} may_fail[] = {
        { false, "poll", "the C library's or our look for closed standard streams; a wait that goes on" },
        { false, "openat", "facts that may be absent; a first try of delete, which has a second" },
        { false, "access", "facts that may be absent" },
        { false, "prctl", "facts; the runtime's own dumpable flag, once it is no longer inside" },
        { false, "faccessat2", "the file is read all the same" },
        { false, "newfstatat", "the same" },
        { false, "fstat", "the same: of a descriptor, glibc asks so since 2.39" },
        { false, "read", "a second try of delete; a signal that is read when the next one comes" },
        { false, "pread64", "whether the container is paused, where nothing says so" },
        { false, "rmdir", "delete goes the long way" },
        { false, "unlinkat", "done, and told to have failed: the next one sees that" },
        { false, "mkdir", "the same" },
        { false, "flock", "the lock is let go, which the end of the process does too" },
        { false, "rt_sigaction", "of SIGCHLD: if that mattered, waitid fails" },
        { false, "rt_sigprocmask", "at the very end" },
        { false, "sendto", "done, and told to have failed" },
        { false, "setpgid", "of a hook, which does it too" },
        { false, "getrandom", "malloc does without" },
        { false, "open_tree", "EPERM: the child opens the source of a bind in its own user namespace" },
        { false, "fcntl", "whether this is a copy of the program: then another is made" },
        { false, "lseek", "in /etc/localtime, by the C library" },
        { false, "pipe2", "a poststop hook that fails is a warning", "delete" },
        { false, "write", "the same", "delete" },
        { false, "clone3", "the same", "delete" },
        { false, "waitid", "the same", "delete" },
        { false, "pidfd_send_signal", "to an usher, which ends itself", "exec" },
        { false, "waitid", "for an usher, of whom no status is asked", "exec" },
        { false, "waitid", "the same, or for who looked at id maps", "create" },
        { false, "waitid", "the same", "run" },
        { true, "setpgid", "of a hook, which does it too" },
        { true, "poll", "for a hook that had ended already, and well" },
        { true, "rt_sigaction", "to the default, of what has it already" },
        { true, "openat2", "a mount point in a new tmpfs is made the usual way; without /etc/passwd there is no home" },
        { true, "mkdirat", "the same" },
        { true, "openat", "the same" },
        { true, "newfstatat", "the same; a program that is not in this directory of PATH is looked for in the next" },
        { true, "fstat", "the same" },
        { true, "read", "the same" },
        { true, "close_range", "of descriptors that are closed once more, which is checked" },
        { true, "open_tree_attr", "two calls instead of one" },
        { true, "mount", "EPERM: no sysfs or cgroup2 of its own for the container, but a read-only view" },
        { true, "fchdir", "the same" },
        { true, "capset", "EPERM: tried again with what the runtime has itself" },
        { true, "recvfrom", "create has succeeded by then; its container is stopped" },
        { true, "accept4", "the same" },
        { true, "sendmsg", "done, and told to have failed" },
};

static bool is_among(const char *name, const char *const *names, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (strcmp(name, names[i]) == 0)
                        return true;
        return false;
}

static const char *name_of(int number) {
        static char unknown[32];
        const char *name = number == 467 ? "open_tree_attr" : seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, number);

        snprintf(unknown, sizeof unknown, "system call %d", number);
        return name ? name : unknown;
}

/* ---- what differs between architectures: no call has the number -1, and the result may be anything when it is over ---- */

#if defined(__x86_64__)
static void skip_call(pid_t pid) {
        ptrace(PTRACE_POKEUSER, pid, offsetof(struct user_regs_struct, orig_rax), -1L);
}

static void set_result(pid_t pid, long result) {
        ptrace(PTRACE_POKEUSER, pid, offsetof(struct user_regs_struct, rax), result);
}
#elif defined(__aarch64__)
static void skip_call(pid_t pid) {
        int number = -1;
        struct iovec iov = { &number, sizeof number };

        ptrace(PTRACE_SETREGSET, pid, NT_ARM_SYSTEM_CALL, &iov);
}

static void set_result(pid_t pid, long result) {
        struct user_regs_struct regs;
        struct iovec iov = { &regs, sizeof regs };

        ptrace(PTRACE_GETREGSET, pid, NT_PRSTATUS, &iov);
        regs.regs[0] = (unsigned long)result;
        ptrace(PTRACE_SETREGSET, pid, NT_PRSTATUS, &iov);
}
#endif

/* ---- */

struct trial {
        const struct command *command;
        int n, pass, errnum, number;
        bool in_main;
};

static bool may_succeed(const struct trial *t) {
        for (size_t i = 0; i < sizeof may_fail / sizeof *may_fail; i++)
                if (may_fail[i].child == (t->command->generation > 0) && strcmp(may_fail[i].name, name_of(t->number)) == 0 &&
                        (!may_fail[i].command || strcmp(may_fail[i].command, t->command->name) == 0))
                        return true;
        return false;
}

static void complain(const struct trial *t, const char *what, const char *detail) {
        if (failures++ < FAILURES_MAX)
                printf("# %s with %s as its call %d %s %s: %s%s\n", t->command->name, name_of(t->number), t->n,
                        t->pass == LAST ? "done, but told to have failed with" : "failing with", strerrorname_np(t->errnum), what, detail);
}

/* Goes on behind the call that PID is about to make, with an error for its result. */
static void fail_call(pid_t pid, int errnum, bool make_it) {
        int status;

        if (!make_it)
                skip_call(pid);
        ptrace(PTRACE_SYSCALL, pid, NULL, NULL);
        if (waitpid(pid, &status, __WALL) != pid || !WIFSTOPPED(status))
                return;
        set_result(pid, -errnum);
        ptrace(PTRACE_DETACH, pid, NULL, NULL);
}

/* False: there is no such call any more. */
static bool fails_at(struct trial *t, pid_t pid, bool until_exec, bool *ret_tried) {
        if (!reaches(pid, t->n, until_exec, &t->in_main))
                return false;
        t->number = number_at(pid);
        *ret_tried = t->pass == LAST ? is_among(name_of(t->number), changing, sizeof changing / sizeof *changing)
                                     : !kills_a_child(t->command, name_of(t->number)) &&
                        !is_among(name_of(t->number), never_fail, sizeof never_fail / sizeof *never_fail);
        if (*ret_tried)
                fail_call(pid, t->errnum, t->pass == LAST);
        else
                ptrace(PTRACE_DETACH, pid, NULL, NULL);
        return true;
}

/* What the runtime said of it, in a buffer of ours. */
static const char *said(void) {
        static char text[2048];
        ssize_t n = pread(errors, text, sizeof text - 1, 0);

        text[n > 0 ? n : 0] = '\0';
        return text;
}

static void judge(const struct trial *t, int status) {
        const int failed = strstr(t->command->name, "exec") ? 255 : 1;
        const char *text = said(), *newline = strchr(text, '\n');
        const bool makes = !t->command->before[0] && t->pass != LAST;

        if (!t->in_main && status >= 0)
                return; /* the dynamic loader and entry.c have words and ways of their own */
        if (status == 0) {
                if (!may_succeed(t))
                        complain(t, "nobody notices", "");
                return;
        }
        if (status != failed) {
                char detail[32];

                snprintf(detail, sizeof detail, "%d", status);
                complain(t, status < 0 ? "hangs, or " : "exit status ", detail);
        }
        if (strncmp(text, "sage-runtime: ", 14) != 0 || !newline)
                complain(t, "does not say why, but: ", text);
        if (makes && !is_empty(root))
                complain(t, "state is left: ", text);
        if (makes && access("/sys/fs/cgroup/" ID, F_OK) == 0)
                complain(t, "the cgroup is left: ", text);
}

static void clean_up(const struct trial *t, int mounts_before) {
        static const char *const delete[] = { "delete", "--force", ID, NULL };
        char text[256];
        int status = run(delete);

        if (status != 0)
                complain(t, status < 0 ? "delete --force hangs" : "delete --force fails: ", said());
        if (!is_empty(root))
                complain(t, "state is left in ", root);
        if (access("/sys/fs/cgroup/" ID, F_OK) == 0)
                complain(t, "the cgroup is left", "");
        if (mounts() != mounts_before)
                complain(t, "a mount is left", "");
        if (!nobody_is_left(text, sizeof text))
                complain(t, "a process is left", "");
}

/* False: the command makes no N calls. */
static bool try(struct trial *t, bool *ret_tried) {
        const struct command *command = t->command;
        bool reached;
        pid_t pid, child;
        int status;

        if (command->before[0] && run(command->before) != 0) {
                complain(t, "cannot prepare for it: ", said());
                return false;
        }
        if (ftruncate(errors, 0) < 0 || lseek(errors, 0, SEEK_SET) < 0)
                not_here("cannot keep what is said");
        child = start_generation(command, &pid);
        reached = child > 0 && fails_at(t, child, command->generation > 0, ret_tried);
        if (!reached)
                return false;
        status = status_of(pid);
        if (*ret_tried)
                judge(t, status);
        return true;
}

static int fail_everywhere(const struct command *command, int pass) {
        const int mounts_before = mounts();
        int tries = 0;

        for (int n = 1;; n++) {
                struct trial t = { .command = command, .n = n, .pass = pass, .errnum = errnums[(n + pass) % 4] };
                bool tried = false, reached = try(&t, &tried);

                clean_up(&t, mounts_before);
                tries += tried;
                if (!reached || failures > FAILURES_MAX)
                        return tries;
        }
}

int main(int argc, char **argv) {
        const int n = sizeof commands / sizeof *commands;
        int failed = 0, number = 0, passes;

        if (argc < 5)
                return 2;
        passes = atoi(argv[4]);
        set_up(argv);
        errors = memfd_create("errors", MFD_CLOEXEC);
        print_plan(argv + 5, false);
        for (int i = 0; i < n; i++) {
                int tries = 0;

                if (!is_wanted(&commands[i], argv + 5))
                        continue;
                failures = 0;
                for (int pass = 0; pass < passes; pass++)
                        tries += fail_everywhere(&commands[i], pass);
                printf("%sok %d - %s, failed at each of its system calls, %d times in all, says so and leaves nothing\n",
                        failures ? "not " : "", ++number, commands[i].name, tries);
                failed |= failures > 0 || tries < (commands[i].generation ? 4 : 10);
        }
        return failed;
}
