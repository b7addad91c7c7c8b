/* escape [FILTER]: tries to do what the payload filter refuses, every attempt in a process of its own, and prints TAP.
 *
 * Without an argument each is made without a filter and then under every one there is: refused where it must be, and else it ends as it did
 * without. Root's privilege and namespaces that belong to nobody else let most succeed, so that it is the filter that refuses and not the
 * kernel. With FILTER (request.h) this process is believed to be in a sandbox with it: run by a bundle, it tries what that refuses. */
#define _GNU_SOURCE
#include "attempt.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "apply/seccomp.h"
#include "base/arena.h"

static const struct attempts *const topics[] = {
        &attempts_on_processes,
        &attempts_on_namespaces,
        &attempts_on_kernel,
        &attempts_on_files,
        &attempts_on_sockets,
        &attempts_by_other_tables,
};

static struct filter_program programs[ELEMENTSOF(requests)];
static unsigned tests, failures;

long attempt_call(const struct attempt *a) {
        return syscall(a->number, a->args[0], a->args[1], a->args[2], a->args[3], a->args[4], a->args[5]);
}

__attribute__((noreturn)) static void attempt_in_child(const struct attempt *attempt, const struct filter_program *program) {
        struct error err;
        int none;

        (void)setsid(); /* vhangup(2) must have no terminal of ours */
        alarm(20);
        if (attempt->prepare && attempt->prepare() < 0 && program)
                _exit(254);
        if (program && program->count && (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || filter_load(program, 0, &none, &err) < 0))
                _exit(253);
        errno = 0;
        _exit(attempt->make(attempt) < 0 ? errno : 0);
}

/* How ATTEMPT ends under PROGRAM; of 0 instructions: under none; NULL: under what we are under ourselves, preparations and all. */
static int outcome(const struct attempt *attempt, const struct filter_program *program) {
        pid_t pid;
        int status;

        fflush(stdout);
        pid = fork();
        if (pid == 0)
                attempt_in_child(attempt, program);
        while (pid < 0 || waitpid(pid, &status, 0) < 0)
                if (pid < 0 || errno != EINTR)
                        return OTHERWISE;
        if (WIFSIGNALED(status))
                return WTERMSIG(status) == SIGSYS ? KILLED : CRASHED;
        return WEXITSTATUS(status) > 250 ? OTHERWISE : WEXITSTATUS(status);
}

static const char *named(int outcome) {
        switch (outcome) {
        case 0:
                return "success";
        case KILLED:
                return "the end of the process";
        case CRASHED:
                return "a crash";
        case OTHERWISE:
                return "no attempt";
        default:
                return strerrorname_np(outcome) ?: "?";
        }
}

static int wanted(const struct attempt *attempt) {
        return attempt->with ? attempt->with : EPERM;
}

static void report(bool good, const struct attempts *topic, const struct attempt *attempt, const char *text) {
        failures += !good;
        printf("%sok %u - %s: %s\n", good ? "" : "not ", ++tests, topic->topic, attempt->name);
        if (*text)
                printf("# %s\n", text);
}

/* Without a filter, then under each. */
static void try(const struct attempts *topic, const struct attempt *attempt) {
        const struct filter_program no_filter = { 0 };
        int without = outcome(attempt, &no_filter);
        bool good = without == attempt->without || without == ENOSYS || (attempt->or &&without == attempt->or);
        char text[512] = "";
        int n = 0;

        if (!good)
                n = snprintf(text, sizeof text, "without a filter: %s, expected %s", named(without), named(attempt->without));
        else if (without != attempt->without)
                n = snprintf(text, sizeof text, "on this kernel: %s without a filter", named(without));
        for (size_t i = 0; i < ELEMENTSOF(requests); i++) {
                int expected = attempt->refused >> i & 1 ? wanted(attempt) : without, found = outcome(attempt, &programs[i]);

                if (found == expected)
                        continue;
                good = false;
                if (n < (int)sizeof text)
                        n += snprintf(text + n, sizeof text - (size_t)n, "%s%s: %s, expected %s", n ? "; " : "", requests[i].name,
                                named(found), named(expected));
        }
        report(good, topic, attempt, text);
}

/* In a sandbox already. */
static void try_here(const struct attempts *topic, const struct attempt *attempt, int request) {
        bool refused = attempt->refused >> request & 1;
        char text[128] = "";
        int found;

        if (!refused && !attempt->anybody)
                return;
        found = outcome(attempt, NULL);
        if (found == (refused ? wanted(attempt) : attempt->without) || (!refused && attempt->or &&found == attempt->or))
                return report(true, topic, attempt, "");
        snprintf(text, sizeof text, "%s, expected %s", named(found), named(refused ? wanted(attempt) : attempt->without));
        report(false, topic, attempt, text);
}

static void try_all(int request) {
        for (size_t i = 0; i < ELEMENTSOF(topics); i++)
                for (size_t j = 0; j < topics[i]->n; j++)
                        if (request < 0)
                                try(topics[i], &topics[i]->rows[j]);
                        else
                                try_here(topics[i], &topics[i]->rows[j], request);
        printf("1..%u\n", tests);
}

static int skip(const char *why) {
        printf("1..0 # SKIP %s: %s\n", why, strerror(errno));
        return 77;
}

/* As process 1 of a pid namespace, with a /proc that shows it. */
static int go_where_nothing_can_break(void) {
        int status;
        pid_t pid;

        if (geteuid() != 0)
                return errno = EPERM, skip("needs root");
        if (unshare(CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS) < 0)
                return skip("needs namespaces");
        pid = fork();
        if (pid < 0)
                return skip("cannot fork");
        if (pid > 0)
                return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : 1;
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
                mount("proc", "/proc", "proc", 0, NULL) < 0)
                return skip("needs mounts");
        return -1;
}

/* Without LeakSanitizer, which would need ptrace(2), cannot be process 1, and cannot fork once that has ended. */
__attribute__((noreturn)) static void end(int status) {
        fflush(stdout);
        _exit(status);
}

int main(int argc, char **argv) {
        struct arena arena = { 0 };
        int status, request = -1;

        if (argc > 1) {
                request = request_find(argv[1]);
                if (request < 0)
                        return 2;
        } else if ((status = go_where_nothing_can_break()) >= 0)
                end(status);
        for (size_t i = 0; i < ELEMENTSOF(requests); i++)
                programs[i] = payload_filter_build(&arena, requests[i].parts, FILTER_THIS_MACHINE);
        try_all(request);
        end(failures ? 1 : 0);
}
