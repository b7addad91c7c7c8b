/* timer: runs commands as a plan on stdin says and writes how long each took, and its peak RSS, to stdout.
 *
 *     timer [-n ROUNDS] [-j WORKERS] < plan > samples
 *
 * A plan is lines of words between tabs:
 *     block                 what follows, up to the next such line, stays together and in this order
 *     time NAME CMD ARG…    run CMD; one sample "NAME <tab> nanoseconds <tab> KiB"
 *     do CMD ARG…           run CMD, unmeasured
 *     reap PIDFILE          wait until the process this file names has ended
 * A word that holds an @ has the first one replaced by the number of the round, so that names can differ.
 *
 * Each round runs every block once, in an order drawn anew (always the same draw): drift of the machine meets everybody alike, and nobody
 * always runs in the wake of the same neighbour, whose network namespace the kernel may still be taking apart. With -j the rounds are dealt
 * to that many workers, which run at the same time.
 *
 * Every command must exit with 0; else the timer says what it said and exits with 1. Commands get /dev/null as stdin and stdout (a
 * container holds on to what `create` was given; a pipe would keep its reader waiting) and a file in memory as stderr. Orphans come to the
 * timer, which reaps them.
 *
 * It is small on purpose: vfork lends the parent's memory to the child, and the kernel counts that in the child's peak RSS (fs/exec.c,
 * exec_mmap), so no peak below the timer's own can be seen. Stdout should be a file: a reader that wakes up would disturb the next run. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_STEPS = 128, MAX_WORDS = 64, SECONDS_A_COMMAND = 60 };

struct step {
        enum { TIME, DO, REAP } kind;
        const char *name;           /* TIME: of the sample; DO and REAP: for messages */
        char *words[MAX_WORDS + 1]; /* the command, or the pid file */
};

struct block {
        int first, n; /* in steps[] */
};

static struct step steps[MAX_STEPS];
static struct block blocks[MAX_STEPS];
static int n_steps, n_blocks;
static char plan[65536];
static int samples, messages; /* our stdout and stderr, once the commands have got other ones */

static _Noreturn void die(const char *what, const char *why) {
        dprintf(messages, "timer: %s: %s\n", what, why);
        exit(1);
}

/* ---- the plan ----------------------------------------------------------------------------------------------------------- */

static void parse_line(char *line) {
        char *verb = strsep(&line, "\t");
        struct step *step = &steps[n_steps];
        int n = 0;

        if (strcmp(verb, "block") == 0) {
                blocks[n_blocks++].first = n_steps;
                return;
        }
        if (n_blocks == 0 || n_steps == MAX_STEPS - 1)
                die(verb, n_blocks ? "the plan has too many lines" : "no block line before it");
        step->kind = strcmp(verb, "time") == 0 ? TIME : strcmp(verb, "do") == 0 ? DO : REAP;
        if (step->kind == REAP && strcmp(verb, "reap") != 0)
                die(verb, "not a word of a plan");
        step->name = step->kind == TIME ? strsep(&line, "\t") : verb;
        while (line && n < MAX_WORDS)
                step->words[n++] = strsep(&line, "\t");
        if (n == 0 || line)
                die(step->name, n ? "too many words" : "nothing to do");
        n_steps++;
        blocks[n_blocks - 1].n++;
}

static void read_plan(void) {
        size_t size = 0;
        ssize_t n;
        char *rest = plan, *line;

        while ((n = read(STDIN_FILENO, plan + size, sizeof plan - 1 - size)) > 0)
                size += n;
        if (n < 0 || size == sizeof plan - 1)
                die("plan", n < 0 ? strerror(errno) : "too long");
        while ((line = strsep(&rest, "\n")))
                if (*line)
                        parse_line(line);
}

/* Copies WORDS to ARGV, the first @ of each replaced by ROUND; TEXT holds what had to be rewritten. */
static void expand(char *const *words, int round, char **argv, char *text, size_t size) {
        for (; *words; words++, argv++) {
                const char *at = strchr(*words, '@');
                int length;

                *argv = *words;
                if (!at)
                        continue;
                length = snprintf(text, size, "%.*s%d%s", (int)(at - *words), *words, round, at + 1);
                if (length < 0 || (size_t)length >= size)
                        die(*words, "too long");
                *argv = text;
                text += length + 1;
                size -= length + 1;
        }
        *argv = NULL;
}

/* ---- the steps ---------------------------------------------------------------------------------------------------------- */

static const char *running = "";

static void too_slow(int signal) {
        (void)signal;
        dprintf(messages, "timer: %s: did not end within %d s\n", running, SECONDS_A_COMMAND);
        _exit(1);
}

static int64_t now(void) {
        struct timespec t;

        clock_gettime(CLOCK_MONOTONIC, &t);
        return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static _Noreturn void command_failed(const char *name, int status) {
        static char text[2048];
        ssize_t n = pread(STDERR_FILENO, text, sizeof text - 1, 0);

        dprintf(messages, "timer: %s: %s %d: %.*s\n", name, WIFEXITED(status) ? "exit status" : "signal",
                WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status), n > 0 ? (int)n : 0, text);
        exit(1);
}

static void run_command(const struct step *step, char **argv) {
        static char *const envp[] = { "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", NULL };
        struct rusage usage;
        int64_t begin, end;
        pid_t pid;
        int error, status;

        if (ftruncate(STDERR_FILENO, 0) < 0)
                die("ftruncate", strerror(errno));
        begin = now();
        error = posix_spawnp(&pid, argv[0], NULL, NULL, argv, envp);
        if (error)
                die(argv[0], strerror(error));
        while (wait4(pid, &status, 0, &usage) < 0)
                if (errno != EINTR)
                        die("wait4", strerror(errno));
        end = now();
        if (status != 0)
                command_failed(step->kind == TIME ? step->name : argv[0], status);
        if (step->kind == TIME)
                dprintf(samples, "%s\t%lld\t%ld\n", step->name, (long long)(end - begin), usage.ru_maxrss);
}

/* The pidfd is readable when the process has ended, whoever its parent is. */
static void reap(const char *pidfile) {
        char text[32] = "";
        int fd = open(pidfile, O_RDONLY | O_CLOEXEC);
        struct pollfd ended = { .events = POLLIN };

        if (fd < 0 || read(fd, text, sizeof text - 1) <= 0)
                die(pidfile, "no pid in it");
        close(fd);
        ended.fd = syscall(SYS_pidfd_open, (pid_t)atoi(text), 0);
        if (ended.fd >= 0)
                poll(&ended, 1, -1);
        else if (errno != ESRCH)
                die(pidfile, strerror(errno));
        close(ended.fd);
        while (waitpid(-1, NULL, WNOHANG) > 0)
                ;
}

static void run_block(const struct block *block, int round) {
        char text[4096], *argv[MAX_WORDS + 1];

        for (int i = block->first; i < block->first + block->n; i++) {
                expand(steps[i].words, round, argv, text, sizeof text);
                running = steps[i].name;
                alarm(SECONDS_A_COMMAND);
                if (steps[i].kind == REAP)
                        reap(argv[0]);
                else
                        run_command(&steps[i], argv);
                alarm(0);
        }
        while (waitpid(-1, NULL, WNOHANG) > 0)
                ;
}

/* ---- the rounds --------------------------------------------------------------------------------------------------------- */

/* Draws an order of the blocks (Fisher and Yates) from a generator (xorshift, Marsaglia 2003) that starts alike every time. */
static void shuffle(struct block *order) {
        static uint32_t random = 2463534242;

        for (int i = n_blocks - 1; i > 0; i--) {
                struct block block = order[i];
                int j;

                random ^= random << 13;
                random ^= random >> 17;
                random ^= random << 5;
                j = random % (i + 1);
                order[i] = order[j];
                order[j] = block;
        }
}

/* Takes every WORKERS-th round, from FIRST on. */
static void work(int first, int rounds, int workers) {
        int memory = memfd_create("stderr", MFD_CLOEXEC);

        if (memory < 0 || dup3(memory, STDERR_FILENO, 0) < 0 || fcntl(STDERR_FILENO, F_SETFL, O_APPEND) < 0)
                die("memfd_create", strerror(errno));
        close(memory);
        prctl(PR_SET_CHILD_SUBREAPER, 1);
        for (int round = first; round < rounds; round += workers) {
                shuffle(blocks);
                for (int i = 0; i < n_blocks; i++)
                        run_block(&blocks[i], round);
        }
}

/* Returns how many of the workers failed. */
static int work_together(int rounds, int workers) {
        int status, failed = 0;

        for (int i = 0; i < workers; i++) {
                pid_t pid = fork();

                if (pid < 0)
                        die("fork", strerror(errno));
                if (pid == 0) {
                        prctl(PR_SET_PDEATHSIG, SIGKILL);
                        work(i, rounds, workers);
                        exit(0);
                }
        }
        while (wait(&status) > 0)
                failed += status != 0;
        return failed;
}

int main(int argc, char **argv) {
        int rounds = 1, workers = 1, option, null;

        messages = STDERR_FILENO;
        while ((option = getopt(argc, argv, "n:j:")) != -1) {
                if (option == 'n')
                        rounds = atoi(optarg);
                else if (option == 'j')
                        workers = atoi(optarg);
                else
                        return 2;
        }
        read_plan();
        samples = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
        messages = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
        null = open("/dev/null", O_RDWR | O_CLOEXEC);
        if (samples < 0 || messages < 0 || null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0)
                die("standard streams", strerror(errno));
        signal(SIGALRM, too_slow);

        if (workers > 1)
                return work_together(rounds, workers) ? 1 : 0;
        work(0, rounds, 1);
        return 0;
}
