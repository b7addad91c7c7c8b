/* egress_ready ROUNDS [wait | end] PROGRAM [ARGUMENT…]: how long a program takes until it is ready, in µs, a line each round.
 *
 * From before vfork(2) to the first byte of its standard output (wait), or to the end of that, which is its own (end): with an empty program
 * this is the least that the start of anything costs here. Nothing is done in between but execve(2), so that what is measured is the
 * program's and not, say, a large parent's fork or an interpreter's look at the pipe. Afterwards it is sent SIGTERM and waited for. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now_us(void) {
        struct timespec t;

        clock_gettime(CLOCK_MONOTONIC, &t);
        return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static _Noreturn void die(const char *what) {
        perror(what);
        exit(1);
}

/* vfork(2): the child has our memory and our stack until it has become the program, so it makes three calls and no more. */
static pid_t start(char **command, int out) {
        static char *const environment[] = { NULL };
        pid_t pid = vfork();

        if (pid == 0) {
                if (dup2(out, STDOUT_FILENO) == STDOUT_FILENO)
                        execve(command[0], command, environment);
                _exit(127);
        }
        if (pid < 0)
                die("vfork");
        return pid;
}

static double once(char **command, bool to_the_end) {
        char said[4096];
        double began, took;
        int ends[2];
        ssize_t n;
        pid_t pid;

        if (pipe2(ends, O_CLOEXEC) < 0)
                die("pipe2");
        began = now_us();
        pid = start(command, ends[1]);
        close(ends[1]);
        n = read(ends[0], said, sizeof said);
        took = now_us() - began;
        if (to_the_end ? n != 0 : n <= 0) {
                fprintf(stderr, "%s: %s\n", command[0], n ? "said something" : "ended without a word");
                exit(1);
        }
        kill(pid, SIGTERM);
        if (waitpid(pid, NULL, 0) != pid)
                die("waitpid");
        close(ends[0]);
        return took;
}

int main(int argc, char **argv) {
        int rounds = argc > 3 ? atoi(argv[1]) : 0;
        bool to_the_end = argc > 3 && strcmp(argv[2], "end") == 0;

        if (rounds <= 0 || (!to_the_end && strcmp(argv[2], "wait") != 0))
                return 2;
        while (rounds-- > 0)
                printf("%.1f\n", once(argv + 3, to_the_end));
        return 0;
}
